// second tier: time
import { Worker } from 'node:worker_threads'
import * as assert from 'uvu/assert'
import { field } from 'caduceus'
import { handshakeRevisions } from 'caduceus/protocol'
import { subscribe } from 'caduceus/runtime'
import { defineServer, defineTool, type ServerOptions, type ToolDefinition } from 'caduceus/server'
import { connect, type Connected } from 'caduceus/testing'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('isolated handlers', { timeout: 30_000 })
const module = new URL('./_heavy.js', import.meta.url)
type Kind = 'thread' | 'process'
const kinds = ['thread', 'process'] as const
const eras = { sessions: handshakeRevisions, '2026-07-28': ['2026-07-28'] } as const
const mebibyte = 2 ** 20

for (const kind of kinds) {
  test(`${kind}: a handler runs in a worker that serves the next call, too`, async (t) => {
    const { client } = await start(t, kind)
    const where = await call(client, 'where')
    assert.is.not(where, `${process.pid} 0`)
    assert.is(where.split(' ')[0] === String(process.pid), kind === 'thread')
    assert.is(await call(client, 'where'), where)
    assert.is(await call(client, 'echo', 'hello'), 'hello')
  })

  test(`${kind}: AsyncLocalStorage entered by a handler is empty in the next call`, async (t) => {
    const { client } = await start(t, kind, { isolation: { threads: 1, processes: 1 } })
    for (const name of ['a', 'b', 'c']) assert.is(await call(client, 'enter', name), 'nothing')
  })

  test(`${kind}: results are the same as in place`, async (t) => {
    const { client } = await start(t, kind)
    const built = await client.callTool('heavy', { what: 'builder', text: 'a' })
    assert.equal(
      [built.isError, built.content],
      [true, ['a', '{"text":"a"}', 'no'].map((text) => ({ type: 'text', text }))],
    )
    assert.is(await call(client, 'bytes', 'ab'), '6162')
  })

  test(`${kind}: errors are the same as in place`, async (t) => {
    const { client } = await start(t, kind)
    const refused = await client.callTool('heavy', { what: 'refuse', text: 'too much' })
    assert.equal([refused.isError, refused.text], [true, 'too much'])
    const answered = await rejection(call(client, 'error', 'mine'))
    assert.equal([answered.code, answered.message, answered.data], [-32099, 'mine', { text: 'mine' }])
    assert.is(await failure(client, 'crash', 'a bug'), 'Internal error: a bug')
    assert.is(await failure(client, 'stray', 'a stray bug'), 'Internal error: a stray bug')
    assert.is(await call(client, 'echo', 'fine'), 'fine')
  })

  test(`${kind}: a handler that runs on after its call affects no other call`, async (t) => {
    const { client } = await start(t, kind, { isolation: { threads: 1, processes: 1 } })
    assert.match(await failure(client, 'strayed', 'gone astray'), 'gone astray')
    assert.is(await call(client, 'pause', '200'), '200')
  })

  test(`${kind}: a value that cannot be cloned is refused with its path`, async (t) => {
    const { client } = await start(t, kind)
    assert.match(
      await failure(client, 'uncloneable'),
      /the result\.content\[0\]\.extra: expected a value that structured clone can copy/,
    )
  })

  test(`${kind}: a result beyond the limit is refused in the worker, others arrive`, async (t) => {
    const { client } = await start(t, kind, {
      isolation: { threads: 1, processes: 1, maxResultBytes: 100_000 },
    })
    assert.is((await call(client, 'large', '90000')).length, 90_000)
    const where = await call(client, 'where')
    const limit = 'expected at most 100000 bytes, got more'
    assert.match(await failure(client, 'large', '100001'), `the result: ${limit}`)
    assert.match(await failure(client, 'largeError', '100001'), limit)
    const told: unknown[] = []
    const large = { what: 'largeMessage', text: '100001' }
    const untold = await client.callTool('heavy', large, { onProgress: (note) => told.push(note) })
    assert.equal([untold.isError, untold.text.includes(limit)], [true, true], untold.text)
    assert.equal(told, [])
    assert.is(await call(client, 'where'), where)
  })

  test(`${kind}: raw messages of a handler to its parent are ignored`, async (t) => {
    const { client } = await start(t, kind)
    const where = await call(client, 'where')
    assert.is(await call(client, 'forge'), 'forged')
    assert.is(await call(client, 'where'), where)
  })

  test(`${kind}: a handler that pollutes prototypes affects no other worker`, async (t) => {
    const one = { threads: 1, processes: 1 }
    const { client } = await start(t, kind, { isolation: one })
    for (const [what, name] of [
      ['pollute', 'extra'],
      ['polluteAndCrash', 'timeout'],
      ['pollute', 'toString'],
    ] as const) {
      const before = await call(client, 'where')
      await client.callTool('heavy', { what, text: name })
      const found = await call(client, 'polluted', name)
      assert.is.not(found, 'polluted')
      assert.is.not(found, '() => "changed"')
      assert.is.not(await call(client, 'where'), before)
    }
    const after = await call(client, 'where')
    assert.is(await call(client, 'where'), after)
  })

  test(`${kind}: a handler that exits its ${kind} fails its call with the exit`, async (t) => {
    const { client } = await start(t, kind, { isolation: { memory: 200 * mebibyte } })
    assert.match(await failure(client, 'exit', '7'), `tools/call heavy: its ${kind} ended with exit code 7`)
    if (kind === 'process') assert.match(await failure(client, 'abort'), 'its process ended by SIGABRT')
    assert.match(await failure(client, 'buffers'), 'took more memory than it may have')
    assert.is(await call(client, 'echo', 'fine'), 'fine')
  })

  const fills = `${kind}: a handler that fills its heap costs its call, and no other`
  if (kind === 'thread' && !('getHeapStatistics' in Worker.prototype))
    test.skip(fills, 'V8 of Node 20 may end the program when a thread fills its heap')
  else
    test(fills, async (t) => {
      const { client } = await start(t, kind, { isolation: { memory: 200 * mebibyte } })
      // the heap of a process has its own limit
      assert.match(
        await failure(client, 'eat'),
        kind === 'thread' ? 'took more memory than it may have' : /took more memory|ended by SIGABRT/,
      )
      assert.is(await call(client, 'echo', 'fine'), 'fine')
    })

  for (const [era, revisions] of Object.entries(eras)) {
    test(`${kind}, ${era}: a spinning call ends at its deadline, and others go on`, async (t) => {
      const { client } = await start(t, kind, { revisions })
      await call(client, 'echo')
      const spun = client.callTool('brief', { what: 'spin' })
      assert.is(await call(client, 'echo', 'meanwhile'), 'meanwhile')
      assert.equal((await spun).text, 'The tool brief took longer than 300 ms and was stopped.')
      assert.is(await call(client, 'echo', 'fine'), 'fine')
    })

    test(`${kind}, ${era}: a cancelled call is aborted, or killed if it ignores that`, async (t) => {
      const { client } = await start(t, kind, { revisions, isolation: { threads: 1, processes: 1 } })
      // a busy machine may take longer than a handler has
      assert.ok(
        await sometimes(async () => {
          const where = await call(client, 'where')
          await cancelled(client, 'wait')
          return (await call(client, 'where')) === where
        }),
      )
      const where = await call(client, 'where')
      await cancelled(client, 'spin')
      assert.is.not(await call(client, 'where'), where)
    })
  }

  test(`${kind}: a server stops while a handler spins`, async (t) => {
    const pair = await start(t, kind, { timeouts: { drain: 100 } })
    const spun = pair.client.callTool('heavy', { what: 'spin' }).catch(() => {})
    await call(pair.client, 'echo', 'a')
    const began = Date.now()
    await pair.server.stop()
    assert.ok(Date.now() - began < 5_000)
    await spun
  })
}

test('native code of a process ends at the deadline', async (t) => {
  const { client } = await start(t, 'process')
  await call(client, 'echo')
  assert.equal((await client.callTool('brief', { what: 'native' })).isError, true)
  assert.is(await call(client, 'echo', 'fine'), 'fine')
})

test('the end of a thread during a call is logged with the call', async (t) => {
  const { client } = await start(t, 'thread')
  const told: string[] = []
  t.after(subscribe('crash', ({ name, during }) => void told.push(`${name}: ${during}`)))
  await failure(client, 'exit', '1')
  assert.equal(told, ['isolation: tools/call heavy'])
})

function toolsOf(isolate: Kind): readonly ToolDefinition[] {
  const input = { what: field.string(), text: field.string().optional() }
  return [
    defineTool({ name: 'heavy', input, isolate, module }),
    defineTool({ name: 'brief', input, isolate, module, timeout: 300 }),
  ]
}

async function start(
  t: TestContext,
  kind: Kind,
  server: Omit<ServerOptions, 'transport'> = {},
): Promise<Connected> {
  const definition = defineServer({ name: 'test', version: '1', tools: toolsOf(kind) })
  const pair = await connect(definition, { server, client: { era: 'auto' } })
  t.after(() => pair.close())
  return pair
}

async function call(client: Connected['client'], what: string, text?: string): Promise<string> {
  return (await client.callTool('heavy', { what, ...(text !== undefined && { text }) })).text
}

async function sometimes(isSo: () => Promise<boolean>): Promise<boolean> {
  for (let attempt = 0; attempt < 10; attempt += 1) if (await isSo()) return true
  return false
}

/** The text of a call that fails. */
async function failure(client: Connected['client'], what: string, text?: string): Promise<string> {
  const result = await client.callTool('heavy', { what, ...(text !== undefined && { text }) })
  assert.is(result.isError, true)
  return result.text
}

/** Cancels a call that has begun. */
async function cancelled(client: Connected['client'], what: string): Promise<void> {
  const ending = new AbortController()
  const onProgress = () => ending.abort()
  await rejection(client.callTool('heavy', { what }, { signal: ending.signal, onProgress }))
}

async function rejection(promise: Promise<unknown>): Promise<Error & { code: unknown; data: unknown }> {
  const error = await promise.then(
    (value) => assert.unreachable(`it resolved: ${String(value)}`),
    (error) => error,
  )
  return error
}

test.run()
