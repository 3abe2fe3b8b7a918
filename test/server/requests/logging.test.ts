import * as assert from 'uvu/assert'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { startTestServer } from '../_servers.js'

const test = suite('server logging')
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

const speak = defineTool({
  name: 'speak',
  run: (_args, ctx) => levels.filter((level) => ctx.log(level, { level }, 'voice')).join(),
})
const odd = defineTool({
  name: 'odd',
  run: (_args, ctx) => [ctx.log('error', undefined), ctx.log('loud' as never, 1)].join(),
})

async function start(t: TestContext, logging: boolean): Promise<RawClient> {
  const definition = defineServer({ name: 'test', version: '1', tools: [speak, odd], logging })
  const server = await startServer(definition, { transport: serveHttp(), logger: false })
  t.after(() => server.stop())
  return new RawClient(t, server.url).open()
}

for (const [level, first] of [
  [undefined, 1],
  ...levels.map((name, index) => [name, index] as const),
] as const) {
  test(`level ${level} sends ${levels[first]} and above on the stream of the call`, async (t) => {
    const client = await start(t, true)
    if (level !== undefined) assert.equal((await client.ask('logging/setLevel', { level })).result, {})
    const { messages } = await client.post({
      jsonrpc: '2.0',
      id: 7,
      method: 'tools/call',
      params: { name: 'speak' },
    })
    assert.equal(
      messages.slice(0, -1),
      levels.slice(first).map((own) => ({
        jsonrpc: '2.0',
        method: 'notifications/message',
        params: { level: own, data: { level: own }, logger: 'voice' },
      })),
    )
    assert.is(messages.at(-1)?.result?.content?.[0]?.text, levels.slice(first).join())
  })
}

test('each session has its own level', async (t) => {
  const client = await start(t, true)
  const other = await new RawClient(t, client.url.href).open()
  await client.ask('logging/setLevel', { level: 'emergency' })
  assert.equal([await client.text('speak'), await other.text('speak')], ['emergency', levels.slice(1).join()])
})

test('a level that is none is refused', async (t) => {
  const client = await start(t, true)
  for (const params of [{ level: 'loud' }, {}, { level: 1 }])
    assert.is((await client.ask('logging/setLevel', params)).error?.code, -32602)
  assert.is((await client.call('odd')).result?.isError, true)
})

test('a server that does not declare logging logs nothing', async (t) => {
  const client = await start(t, false)
  assert.is(await client.text('speak'), '')
  assert.is((await client.ask('logging/setLevel', { level: 'info' })).error?.code, -32601)
})

test('invalid progress throws in the handler, heard or not, and is never sent', async (t) => {
  const wrong: readonly (readonly unknown[])[] = [
    ['1'],
    [undefined],
    [1n],
    [1, '2'],
    [1, null],
    [1, 2, 5],
    [1, 2, { message: 'm' }],
  ]
  const steps = defineTool({
    name: 'steps',
    run(_args, ctx) {
      const codes = wrong.map((step) => codeOf(() => ctx.progress(...(step as [number]))))
      ctx.progress(1, Number.NaN)
      ctx.progress(Number.POSITIVE_INFINITY)
      ctx.progress(2, Number.POSITIVE_INFINITY)
      codes.push(codeOf(() => ctx.log('info', 1, 5 as never)))
      codes.push(codeOf(() => ctx.elicitationComplete(5 as never)))
      return codes.join()
    },
  })
  const server = await startTestServer(t, [steps])
  const client = await new RawClient(t, server.url).open()
  const all = Array.from({ length: wrong.length + 2 }, () => 'BAD_OPTION').join()
  assert.is(await client.text('steps'), all)
  const params = { name: 'steps', _meta: { progressToken: 'p' } }
  const { messages } = await client.post({ jsonrpc: '2.0', id: 9, method: 'tools/call', params })
  assert.equal(
    messages.map(({ params: told, result }) => told ?? result?.content?.[0]?.text),
    [{ progressToken: 'p', progress: 1 }, { progressToken: 'p', progress: 2 }, all],
  )
})

function codeOf(fn: () => unknown): string {
  try {
    return `no error: ${fn()}`
  } catch (error) {
    return String((error as { code?: string }).code)
  }
}

test.run()
