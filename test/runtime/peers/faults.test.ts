// second tier: time
// time limit: 120 s
import { Worker } from 'node:worker_threads'
import * as assert from 'uvu/assert'
import {
  defineActor,
  definePeer,
  peerSpec,
  type RefOf,
  type RuntimeError,
  startActor,
  startSupervisor,
  subscribe,
} from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import type glutton from './_glutton.js'
import type { Listener, partner } from './_partner.js'

const test = suite('faults of peers', { timeout: 30_000 })
type Kind = 'thread' | 'process'
type End = 'spin' | 'abort' | 'segfault' | 'stop' | 'native' | 'heap' | 'devour'

/** How it ends, and what its callers are told. */
const ends: readonly (readonly [Kind, End, RegExp, object?])[] = [
  ['process', 'spin', /event loop was blocked for more than 500 ms/],
  ['process', 'stop', /event loop was blocked for more than 500 ms/],
  ['process', 'native', /event loop was blocked for more than 500 ms/],
  ['process', 'abort', /its process ended by SIG/],
  ['process', 'segfault', /its process ended by SIGSEGV/],
  ['process', 'heap', /its process ended by SIG|it took \d+ bytes/, { memory: 150 * 2 ** 20 }],
  ['thread', 'spin', /event loop was blocked for more than 500 ms/],
  ['thread', 'heap', /it took \d+ bytes/, { memory: 60 * 2 ** 20 }],
]

for (const [kind, how, expected, options = { blockedTimeout: 500 }] of ends) {
  const promise = `OTP-139 ${kind}: ${how} costs what runs in it, and nothing else`
  if (kind === 'thread' && how === 'heap' && !('getHeapStatistics' in Worker.prototype)) {
    test.skip(promise, 'V8 of Node 20 may end the program when a thread fills its heap')
    continue
  }
  test(promise, async (t) => {
    const module = new URL('./_glutton.js', import.meta.url)
    const victim = await start<typeof glutton>(t, { kind, module, ...options })
    const bystanders = await Promise.all([
      start<typeof glutton>(t, { kind: 'thread', module }),
      start<typeof glutton>(t, { kind: 'process', module }),
    ])
    const error = await rejection(victim.call(how as 'spin', undefined, { timeout: 25_000 }))
    assert.is(error.code, 'NOCONNECTION')
    assert.match(error.message, expected)
    assert.not(victim.alive)
    for (const other of bystanders) assert.type(await other.call('pid'), 'number')
  })
}

test('OTP-121 a peer process killed by the system names the signal', async (t) => {
  const peer = await start<typeof glutton>(t, {
    kind: 'process',
    module: new URL('./_glutton.js', import.meta.url),
  })
  const pid = await peer.call('pid')
  const lost = rejection(peer.call('native', undefined, { timeout: 25_000 }))
  process.kill(pid, 'SIGKILL')
  const error = await lost
  const { reason } = error.data as { reason: { error: RuntimeError } }
  assert.equal(reason.error.data, {
    peer: '_glutton',
    kind: 'process',
    code: null,
    signal: 'SIGKILL',
    why: 'ended',
  })
})

for (const kind of ['thread', 'process'] as const) {
  const module = new URL('./_trapper.js', import.meta.url)

  test(`OTP-138 ${kind}: supervisor shutdown times hold for peers`, async (t) => {
    const heard: unknown[] = []
    const listener = await listen(t, heard)
    const spec = (id: string, ending: number, shutdown: 'brutal_kill' | 'infinity' | number) =>
      peerSpec({ kind, module, args: { listener, ending } }, { id, shutdown })
    const tree = await startSupervisor({ strategy: 'one_for_one', logger: false, children: [] })
    t.after(() => tree.ref.alive && tree.ref.kill())
    await tree.startChild(spec('brutal', 0, 'brutal_kill'))
    await tree.terminateChild('brutal')
    assert.equal(heard.splice(0), [])
    await tree.startChild(spec('short', 60_000, 300))
    await tree.terminateChild('short')
    assert.equal(heard.splice(0), [['terminate', 'shutdown']])
    // longer than an actor may take that no supervisor limits
    await tree.startChild(spec('long', 6_000, 'infinity'))
    await tree.terminateChild('long')
    assert.equal(heard.splice(0), [['terminate', 'shutdown'], 'terminated'])
    await tree.stop()
  })

  test(`OTP-138 ${kind}: restart types and intensity hold, and one_for_all takes peers`, async (t) => {
    const fragile = new URL('./_fragile.js', import.meta.url)
    const tree = await startSupervisor({
      strategy: 'one_for_all',
      logger: false,
      intensity: 1,
      periodMs: 60_000,
      children: [
        peerSpec({ kind, module: fragile }, { id: 'first' }),
        peerSpec({ kind: 'thread', module: fragile }, { id: 'second', restart: 'transient' }),
      ],
    })
    t.after(() => tree.ref.alive && tree.stop())
    const [second, first] = (await tree.children()).map(({ ref }) => ref as RefOf<typeof partner>)
    const started: unknown[] = []
    const all = new Promise<void>((resolve) => {
      const undo = subscribe('progress', ({ child }) => {
        started.push(child.id)
        if (started.length === 2) resolve()
      })
      t.after(undo)
    })
    first?.cast('crash')
    await all
    assert.equal(started, ['first', 'second'])
    assert.not(second?.alive)
    // one that ends in order, and is not permanent, stays down
    const [transient, permanent] = (await tree.children()).map(({ ref }) => ref as RefOf<typeof partner>)
    const gone = new Promise((resolve) => transient?.onExit(resolve))
    transient?.cast('end', { type: 'normal' })
    assert.equal(await gone, { type: 'normal' })
    assert.is(await permanent?.call('echo', 1), 1)
    // the second restart is one too many
    const over = new Promise((resolve) => tree.onExit(resolve))
    permanent?.cast('crash')
    assert.is(((await over) as { type: string }).type, 'shutdown')
  })
}

test.run()

async function start<B>(t: TestContext, options: Parameters<typeof definePeer>[0]): Promise<RefOf<B>> {
  const peer = await startActor(definePeer(options), undefined, { startTimeout: 25_000, logger: false })
  t.after(() => {
    if (peer.alive) peer.kill()
  })
  return peer as unknown as RefOf<B>
}

async function listen(t: TestContext, heard: unknown[]): Promise<Listener> {
  const ref = await startActor(
    defineActor({
      name: 'listener',
      init: () => ({}),
      cast: { heard: (_state, what: unknown) => void heard.push(what) },
    }),
  )
  t.after(() => ref.stop())
  return ref as unknown as Listener
}

async function rejection(promise: Promise<unknown>): Promise<RuntimeError> {
  const error = await promise.then(
    (value) => assert.unreachable(`it resolved: ${String(value)}`),
    (error) => error as RuntimeError,
  )
  return error as RuntimeError
}
