import { PassThrough } from 'node:stream'
import * as assert from 'uvu/assert'
import { defineServer, defineTool, startServer, type ToolDefinition } from 'caduceus/server'
import { serveStdio, type StdioServeOptions } from 'caduceus/transports'
import { initialize, type Wire } from '../../server/_client.js'
import { count, echo } from '../../server/_servers.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('stdio server')
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' }

test('lines are taken in order, however the bytes are chunked', async (t) => {
  const lines = [initialize(), initialized, call(1, 'count'), call(2, 'echo', { text: 'žluťoučký 🐍' })]
  const text = lines.map((line) => JSON.stringify(line)).join('\r\n\n')
  for (const size of [1, 7, 10_000]) {
    const pipes = await startPipes(t, [count, echo])
    const bytes = Buffer.from(`${text}\n`)
    for (let at = 0; at < bytes.length; at += size) pipes.input.write(bytes.subarray(at, at + size))
    const answers = [await pipes.next(), await pipes.next(), await pipes.next()]
    assert.equal(answers.map(({ id }) => id).sort(), [1, 2, 'init'])
    assert.equal(answers.find(({ id }) => id === 2)?.result?.content, [
      { type: 'text', text: 'žluťoučký 🐍' },
    ])
  }
})

test('a cancellation of an id that was never sent swallows no later request', async (t) => {
  const pipes = await startPipes(t, [count])
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } }
  pipes.write(initialize(), initialized, cancelled, call(5, 'count'))
  assert.equal([(await pipes.next()).id, (await pipes.next()).id], ['init', 5])
})

test('before initialize only ping is answered with a result', async (t) => {
  const pipes = await startPipes(t, [count])
  pipes.write(
    { jsonrpc: '2.0', id: 0, method: 'ping' },
    { jsonrpc: '2.0', id: '', method: 'tools/list' },
    initialized,
    initialize(),
  )
  assert.equal(await pipes.next(), { jsonrpc: '2.0', id: 0, result: {} })
  assert.equal([(await pipes.next()).error?.code, (await pipes.next()).id], [-32600, 'init'])
})

test('2025-03-26 takes a batch but no initialize in it, and answers line by line', async (t) => {
  const pipes = await startPipes(t, [count])
  pipes.write(initialize('raw', '2025-03-26'), initialized)
  await pipes.next()
  const ping = { jsonrpc: '2.0', id: 'p', method: 'ping' }
  pipes.write([ping, initialized, call(1, 'count'), { jsonrpc: '2.0', id: 2, method: 7 }])
  const answers = [await pipes.next(), await pipes.next(), await pipes.next()]
  assert.equal(answers.map(({ id, error }) => error?.code ?? id).sort(), [-32600, 1, 'p'])
  pipes.write([ping, initialize('raw', '2025-03-26')])
  const { id, error } = await pipes.next()
  assert.equal([id, error?.code], [undefined, -32600])
})

test('a malformed line is answered if possible, and the next is served', async (t) => {
  const pipes = await startPipes(t, [count], true)
  const bad: [string | Buffer, number | undefined, number | string | undefined][] = [
    ['{"jsonrpc"', -32700, undefined],
    [Buffer.from([0x7b, 0xff, 0x7d]), -32700, undefined],
    ['[]', -32600, undefined],
    ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, undefined],
    ['{"jsonrpc":"2.0","id":3,"method":"ping","params":1}', -32600, 3],
    ['{"jsonrpc":"2.0","method":"notifications/x","params":1}', undefined, undefined],
    ['{"jsonrpc":"2.0","id":1,"result":7}', undefined, undefined],
    [
      '{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}',
      -32600,
      4,
    ],
  ]
  for (const [line, code, id] of bad) {
    pipes.input.write(line)
    pipes.input.write('\n')
    if (code === undefined) continue
    const { error, ...rest } = await pipes.next()
    assert.equal([error?.code, rest.id], [code, id], String(line))
  }
  pipes.write(call(9, 'count'))
  assert.is((await pipes.next()).id, 9)
})

test('a request over the limit is answered by its id, and its neighbours are served', async (t) => {
  const pipes = await startPipes(t, [count], true, { limits: { messageBytes: 300 } })
  const long = (id: unknown) => ({ ...call(1, 'count'), params: { name: 'count', x: 'x'.repeat(300) }, id })
  pipes.write(call(7, 'count'), long(8), long('nine'), call(10, 'count'))
  const answers = [await pipes.next(), await pipes.next(), await pipes.next(), await pipes.next()]
  const ofId = (id: unknown) => answers.find((answer) => answer.id === id)
  for (const id of [8, 'nine']) {
    assert.is(ofId(id)?.error?.code, -32600)
    assert.match(ofId(id)?.error?.message ?? '', /300 bytes \(limits\.messageBytes\), got \d+/)
  }
  for (const id of [7, 10]) assert.ok(ofId(id)?.result !== undefined, JSON.stringify(answers))
  pipes.input.write(`${'x'.repeat(1_000)}\n`)
  const unknown = await pipes.next()
  assert.equal([unknown.error?.code, 'id' in unknown], [-32600, false])
  pipes.write(call(11, 'count'))
  assert.is((await pipes.next()).id, 11)
})

test('calls run at once; progress comes before the answer; a cancelled call has none', async (t) => {
  const { tool, entered, leave } = makeGate()
  const pipes = await startPipes(t, [tool, count], true)
  pipes.write(
    { ...call(1, 'gate'), params: { name: 'gate', _meta: { progressToken: 'p' } } },
    call(2, 'gate'),
  )
  await entered
  assert.equal(await pipes.next(), {
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken: 'p', progress: 1 },
  })
  pipes.write(call(1, 'count'), call(3, 'count'))
  assert.equal([(await pipes.next()).error?.code, (await pipes.next()).id], [-32600, 3])
  pipes.write(
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } },
    { jsonrpc: '2.0', id: 4, method: 'ping' },
  )
  assert.is((await pipes.next()).id, 4)
  leave()
  assert.equal((await pipes.next()).id, 1)
})

test('the end of the input lets calls in flight finish, and then ends the server', async (t) => {
  const { tool, entered, leave } = makeGate()
  const pipes = await startPipes(t, [tool], true)
  pipes.write(call(1, 'gate'))
  await entered
  pipes.input.end()
  leave()
  assert.equal((await pipes.next()).id, 1)
  assert.equal(await pipes.ended, { type: 'shutdown' })
})

test('calls longer than the input grace get an error', async (t) => {
  const { tool, entered } = makeGate()
  const pipes = await startPipes(t, [tool], true, { endTimeout: 20 })
  pipes.write(call(1, 'gate'))
  await entered
  pipes.input.end('{"jsonrpc":"2.0","id":2,"method":"ping"}')
  assert.equal((await pipes.next()).id, 2)
  assert.equal((await pipes.next()).error?.code, -32603)
  await pipes.ended
})

test('a stop ends with the last answer, even if stdin ends during it', async (t) => {
  const { tool, entered, leave } = makeGate()
  const pipes = await startPipes(t, [tool], true, {}, 30_000)
  pipes.write(call(1, 'gate'))
  await entered
  const stopped = pipes.server.stop()
  pipes.input.end()
  await new Promise((resolve) => setTimeout(resolve, 20))
  leave()
  assert.equal((await pipes.next()).result?.content, [{ type: 'text', text: 'left' }])
  await stopped
})

for (const name of ['pipes/base', 'pipes/tasks', 'pipes/transport', 'pipes/group']) {
  test(`the session goes on over the same pipes after ${name} was killed`, async (t) => {
    const { tool, entered } = makeGate()
    const pipes = await startPipes(t, [count, tool], true)
    pipes.write(call(1, 'count'))
    await pipes.next()
    pipes.write(call(2, 'gate'))
    await entered
    const ended = new Promise((resolve) => pipes.server.registry.whereis('pipes/transport')?.onExit(resolve))
    pipes.server.registry.whereis(name)?.kill()
    await ended
    pipes.write(call(3, 'count'))
    const answers = [await pipes.answer(), await pipes.answer()]
    const [lost, counted] = answers.sort((a, b) => Number(a.id) - Number(b.id))
    assert.equal([lost?.id, lost?.error?.code], [2, -32603])
    assert.equal(counted?.result?.content, [{ type: 'text', text: '2' }])
  })
}

test('a line is answered even if its listener dies at that moment', async (t) => {
  const pipes = await startPipes(t, [count], true)
  for (let id = 1; id <= 3; id++) {
    pipes.write(call(id, 'count'))
    pipes.server.registry.whereis('pipes/transport')?.kill()
    assert.is((await pipes.answer()).id, id)
  }
})

test('a session that crashes comes back and still hears of list changes', async (t) => {
  const pipes = await startPipes(t, [count], true)
  pipes.write(call(1, 'count'))
  await pipes.next()
  const [session] = await pipes.server.sessions()
  session?.ref?.kill()
  await pipes.server.addTool(echo)
  assert.is((await pipes.next()).method, 'notifications/tools/list_changed')
  pipes.write(call(2, 'count'))
  assert.equal((await pipes.answer()).result?.content, [{ type: 'text', text: '2' }])
})

test('a session that crashes too often ends the server', async (t) => {
  const pipes = await startPipes(t, [count], true)
  for (let n = 1; n <= 3; n++) {
    pipes.write(call(n, 'count'))
    assert.equal((await pipes.answer()).result?.content, [{ type: 'text', text: String(n) }])
    const [session] = await pipes.server.sessions()
    session?.ref?.kill()
  }
  assert.equal(await pipes.ended, { type: 'shutdown' })
})

test('options that cannot work are refused at once', () => {
  const refused = (options: object, pattern: RegExp) =>
    assert.throws(
      () => serveStdio(options),
      (error: Error & { code: string }) => error.code === 'BAD_OPTION' && pattern.test(error.message),
    )
  refused({ input: 'stdin' }, /input: expected a readable stream, got "stdin"/)
  refused({ output: {} }, /output: expected a writable stream/)
  refused({ limits: { messageBytes: -1 } }, /limits\.messageBytes: expected a whole number above 0, got -1/)
  refused({ port: 1 }, /port: expected an option among input, output/)
})

test('an input that has ended already fails the start', async () => {
  const input = new PassThrough()
  input.resume().end()
  await new Promise((resolve) => input.once('end', resolve))
  const definition = defineServer({ name: 'pipes', version: '1' })
  const transport = serveStdio({ input, output: new PassThrough() })
  const error = await startServer(definition, { transport, logger: false }).catch((reason) => reason)
  assert.is(error.code, 'LISTEN_FAILED')
})

function call(id: number, name: string, args: object = {}) {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } }
}

async function startPipes(
  t: TestContext,
  tools: readonly ToolDefinition[],
  open = false,
  options: StdioServeOptions = {},
  drainTimeout = 0,
) {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const lines: Wire[] = []
  const waiting: ((message: Wire) => void)[] = []
  let rest = ''
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() ?? ''
    for (const part of parts) lines.push(JSON.parse(part))
    while (lines.length > 0 && waiting.length > 0) waiting.shift()?.(lines.shift() as Wire)
  })
  const definition = defineServer({ name: 'pipes', version: '1', tools })
  const server = await startServer(definition, {
    transport: serveStdio({ input, output, ...options }),
    logger: false,
    timeouts: { drain: drainTimeout },
  })
  t.after(() => server.stop())
  const next = (): Promise<Wire> => {
    const line = lines.shift()
    return line === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(line)
  }
  /** A session that came back tells what may have changed. */
  const answer = async (): Promise<Wire> => {
    const message = await next()
    return message.id === undefined ? answer() : message
  }
  const write = (...messages: object[]) =>
    void input.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''))
  if (open) {
    write(initialize(), initialized)
    await next()
  }
  return {
    server,
    input,
    output,
    write,
    next,
    answer,
    ended: new Promise((resolve) => server.onExit(resolve)),
  }
}

function makeGate() {
  const [entered, left] = [makeSignal(), makeSignal()]
  const tool = defineTool({
    name: 'gate',
    async run(_args, ctx) {
      ctx.progress(1)
      entered.resolve()
      await left.promise
      return 'left'
    },
  })
  return { tool, entered: entered.promise, leave: left.resolve }
}

function makeSignal() {
  let resolve = (): void => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve: () => resolve() }
}

test.run()
