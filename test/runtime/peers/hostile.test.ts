// second tier: time
// time limit: 120 s
import { deepStrictEqual } from 'node:assert'
import * as assert from 'uvu/assert'
import {
  type ActorRef,
  defineActor,
  definePeer,
  peerSpec,
  type RefOf,
  type RuntimeError,
  startActor,
  startSupervisor,
} from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import type { partner } from './_partner.js'
import type villain from './_villain.js'

const test = suite('hostile peers and values', { timeout: 30_000 })

for (const kind of ['thread', 'process'] as const) {
  test(`${kind}: a value that cannot be cloned is refused at its sender, with an answer`, async (t) => {
    const peer = await start<typeof villain>(t, { kind, module: at('villain') })
    for (const [name, value] of Object.entries(hostile())) {
      const error = await rejection(peer.call('echo', value))
      const expected = name.startsWith('throws') ? undefined : 'NOT_CLONEABLE'
      assert.is(error?.code, expected, name)
    }
    for (const what of ['function', 'symbol', 'weak', 'getter', 'deep', 'promise'] as const) {
      const given = await rejection(peer.call('give', what))
      assert.is(given.code, 'NOT_CLONEABLE', `reply: ${what}`)
      assert.is((given.data as { sent?: boolean }).sent, true, `reply: ${what}`)
      const thrown = await rejection(peer.call('refuse', what))
      assert.is(thrown.code, 'NOT_CLONEABLE', `refused: ${what}`)
    }
    assert.is((await rejection(peer.call('refuse', 'error'))).message, 'with a function')
    assert.throws(
      () => peer.cast('note', (() => {}) as never),
      /expected a value that structured clone can copy/,
    )
    assert.is(await peer.call('echo', 'well'), 'well')
  })

  test(`${kind}: rings, depth, size, odd keys and many references arrive unchanged`, async (t) => {
    const peer = await start<typeof villain>(t, { kind, module: at('villain') })
    for (const [name, value] of Object.entries(harmless()))
      deepStrictEqual(await peer.call('echo', value), value, name)
    const big = Buffer.alloc(64 * 2 ** 20, 7)
    const back = (await peer.call('echo', big, { timeout: 20_000 })) as Uint8Array
    assert.is(Buffer.compare(big, Buffer.from(back.buffer, back.byteOffset, back.length)), 0)
    const actors = await Promise.all(Array.from({ length: 2_000 }, () => startActor(sleeper)))
    assert.equal(await peer.call('echo', actors, { timeout: 20_000 }), actors)
    await Promise.all(actors.map((each) => each.stop()))
    assert.is(await peer.call('echo', 'well'), 'well')
  })

  test(`${kind}: transferables are copied or refused; only threads share memory`, async (t) => {
    const peer = await start<typeof villain>(t, { kind, module: at('villain') })
    const buffer = new ArrayBuffer(8)
    assert.is(((await peer.call('echo', buffer)) as ArrayBuffer).byteLength, 8)
    assert.is(buffer.byteLength, 8)
    const { port1, port2 } = new MessageChannel()
    assert.is((await rejection(peer.call('echo', port1))).code, 'NOT_CLONEABLE')
    port1.close()
    port2.close()
    const shared = peer.call('echo', new SharedArrayBuffer(8))
    if (kind === 'thread') assert.instance(await shared, SharedArrayBuffer)
    else assert.is((await rejection(shared)).code, 'NOT_CLONEABLE')
  })

  test(`${kind}: a queued message that cannot be cloned is refused`, async (t) => {
    const peer = await start<typeof villain>(t, { kind, module: at('villain') })
    const before = Array.from({ length: 1_500 }, (_, i) => peer.call('echo', i, { timeout: 20_000 }))
    const refused = kind === 'process' ? new SharedArrayBuffer(8) : new WeakMap()
    assert.is((await rejection(peer.call('echo', refused))).code, 'NOT_CLONEABLE')
    // changed after it was sent
    const value = { text: 'as it was' }
    const copied = peer.call('echo', value, { timeout: 20_000 })
    value.text = 'as it is'
    assert.equal(await copied, { text: 'as it was' })
    assert.is((await Promise.all(before)).length, 1_500)
  })

  test(`${kind}: raw messages of peer code are ignored`, async (t) => {
    const peer = await start<typeof villain>(t, { kind, module: at('villain') })
    for (const message of [null, 'hello', 7, {}, { type: 'nonsense' }, { type: 'taken', count: 0 }])
      await peer.call('post', message)
    assert.is(await peer.call('echo', 'well'), 'well')
  })

  test(`${kind}: none of many callers hangs when the peer dies`, async (t) => {
    const peer = await start<typeof villain>(t, { kind, module: at('villain') })
    const callers = await Promise.all(Array.from({ length: 50 }, () => startActor(caller)))
    t.after(() => Promise.all(callers.map((each) => each.stop())))
    const all = callers.map((each) => each.call('ask', { peer: peer as never, times: 100 }))
    const killer = setTimeout(() => peer.kill(), 20)
    t.after(() => clearTimeout(killer))
    const outcomes = (await Promise.all(all)).flat()
    assert.is(outcomes.length, 5_000)
    const codes = new Set(outcomes)
    codes.delete('answered')
    for (const code of codes) assert.ok(['EXITED', 'NOPROC', 'MAILBOX_FULL'].includes(code), code)
  })

  test(`${kind}: a stop or kill during start leaves nothing, and the start rejects`, async (t) => {
    for (const how of ['kill', 'stop'] as const) {
      const supervisor = await startSupervisor({ strategy: 'one_for_one', logger: false })
      t.after(() => supervisor.ref.alive && supervisor.ref.kill())
      const starting = supervisor.startChild(
        peerSpec({ kind, module: at('fragile'), args: { init: 'never' } }),
      )
      const told = rejection(starting)
      if (how === 'kill') supervisor.ref.kill()
      else void supervisor.stop().catch(() => {})
      if (how === 'stop') supervisor.ref.kill()
      assert.instance(await told, Error)
    }
  })

  test(`${kind}: an exit during start rejects with its cause`, async (t) => {
    for (const [at_, cause] of [
      ['exits', /ended with exit code 3/],
      ['throws', /no module/],
    ] as const) {
      const error = await rejection(start(t, { kind, module: at(at_) }))
      assert.is(error.code, 'START_FAILED')
      assert.match(error.message, cause)
    }
    const spins = startActor(definePeer({ kind, module: at('spins') }), undefined, {
      startTimeout: 1_000,
      logger: false,
    })
    assert.is((await rejection(spins)).code, 'START_TIMEOUT')
    const since = performance.now()
    const args = await rejection(start(t, { kind, module: at('fragile'), args: { init: new WeakMap() } }))
    assert.is((args.cause as RuntimeError).code, 'NOT_CLONEABLE')
    assert.ok(performance.now() - since < 3_500, 'nobody waits for what was never started')
  })

  test(`${kind}: a restart storm ends its supervisor and leaves nothing`, async (t) => {
    const supervisor = await startSupervisor({
      strategy: 'one_for_one',
      logger: false,
      intensity: 5,
      periodMs: 60_000,
    })
    t.after(() => supervisor.ref.alive && supervisor.stop())
    const over = new Promise((resolve) => supervisor.onExit(resolve))
    await supervisor.startChild(
      peerSpec({ kind, module: at('villain'), args: { dies: true } }, { id: 'dying' }),
    )
    assert.is(((await over) as { type: string }).type, 'shutdown')
  })
}

test('peers nest, thread in process and process in thread, and references cross both', async (t) => {
  for (const [outer, inner] of [
    ['process', 'thread'],
    ['thread', 'process'],
  ] as const) {
    const peer = await start<typeof villain>(t, { kind: outer, module: at('villain') })
    const nested = (await peer.call('start', { kind: inner, module: at('fragile').href })) as RefOf<
      typeof partner
    >
    assert.is(await nested.call('echo', 'through two borders'), 'through two borders')
    const ended = new Promise((resolve) => nested.onExit(resolve))
    peer.kill()
    assert.is(((await ended) as { type: string }).type, 'noconnection')
  }
})

test.run()

const sleeper = defineActor({ name: 'sleeper', init: () => ({}) })

const caller = defineActor({
  name: 'caller',
  init: () => ({}),
  call: {
    ask(
      _state,
      { peer, times }: { peer: ActorRef<{ echo(state: never, value: unknown): unknown }>; times: number },
    ) {
      const calls = Array.from({ length: times }, (_, i) => peer.call('echo', i, { timeout: 20_000 }))
      return Promise.all(
        calls.map((each) =>
          each.then(
            () => 'answered',
            (error) => error.code as string,
          ),
        ),
      )
    },
  },
})

function hostile(): Record<string, unknown> {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  let deep: unknown = 1
  for (let i = 0; i < 200_000; i++) deep = [deep]
  return {
    function: { at: [() => {}] },
    symbol: { symbol: Symbol('x') },
    url: { at: new URL('http://localhost') },
    blob: new Blob(['a']),
    weak: new WeakMap(),
    promise: { later: Promise.resolve(1) },
    proxy: new Proxy({ a: 1 }, {}),
    deep,
    endless: endless(),
    'throws: revoked': proxy,
    'throws: getter': {
      get it() {
        throw new Error('not me')
      },
    },
    spy: spy(),
    'map of functions': new Map([[1, () => {}]]),
    tagged: { [Symbol.toStringTag]: 'Date', fn() {} },
  }
}

/** A function when it is looked at again. */
function spy(): object {
  let looks = 0
  return {
    get it() {
      looks += 1
      return looks > 1 ? () => {} : 'harmless'
    },
  }
}

/** A value that has another one in it, for ever. */
function endless(): object {
  return new Proxy(
    {},
    {
      ownKeys: () => ['next'],
      getOwnPropertyDescriptor: () => ({ value: endless(), enumerable: true, configurable: true }),
      get: () => endless(),
    },
  )
}

function harmless(): Record<string, unknown> {
  const ring: unknown[] = []
  ring.push(ring)
  return {
    undefined: undefined,
    marks: { $caduceus: { ref: { yours: 1 } }, deep: [{ $caduceus: { error: {} } }] },
    'marks and an error': [{ $caduceus: { ref: { ours: 1 } } }, 'x'],
    keys: JSON.parse('{"__proto__":{"a":1},"constructor":1,"":2,"toString":3}'),
    ring,
    numbers: [Number.NaN, -0, Number.MAX_SAFE_INTEGER, 2n ** 80n],
    bytes: new Uint8Array([1, 2, 3]),
    time: new Date(7),
    pattern: /a(b)/giu,
    text: '\u0000\ud800 '.repeat(1_000),
    map: new Map<unknown, unknown>([[{ a: 1 }, new Set([[1]])]]),
  }
}

function at(name: string): URL {
  return new URL(`./_${name}.js`, import.meta.url)
}

async function start<B>(t: TestContext, options: Parameters<typeof definePeer>[0]): Promise<RefOf<B>> {
  const peer = await startActor(definePeer(options), undefined, { startTimeout: 25_000, logger: false })
  t.after(() => {
    if (peer.alive) peer.kill()
  })
  return peer as unknown as RefOf<B>
}

async function rejection(promise: Promise<unknown>): Promise<RuntimeError> {
  const error = await promise.then(
    (value) => assert.unreachable(`it resolved: ${String(value)}`),
    (error) => error as RuntimeError,
  )
  return error as RuntimeError
}
