import { PassThrough } from 'node:stream'
import * as assert from 'uvu/assert'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { serveStdio } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { initialize, type Wire } from '../_client.js'

const test = suite('scopes on standard input')

test('stdio checks no scopes and warns of it once', async (t) => {
  const warnings = heard<Error & { code?: string }>()
  process.on('warning', warnings.add)
  t.after(() => process.off('warning', warnings.add))
  const tools = [
    defineTool({ name: 'open', run: () => 'open' }),
    defineTool({ name: 'kept', scopes: ['files:write'], run: (_args, ctx) => String(ctx.principal) }),
  ]
  const definition = defineServer({ name: 'test', version: '1', tools })
  const [input, output] = [new PassThrough(), new PassThrough()]
  const messages = heard<Wire>()
  output.on('data', (chunk: Buffer) => {
    for (const line of chunk.toString().split('\n')) if (line !== '') messages.add(JSON.parse(line))
  })
  const server = await startServer(definition, { transport: serveStdio({ input, output }), logger: false })
  t.after(() => server.stop())
  const { message } = await warnings.next(({ code }) => code === 'CADUCEUS_SCOPES')
  assert.match(message, /^server test: scopes are not asked for on standard input.*: kept$/)
  const ask = async (request: object, id: string) => {
    input.write(`${JSON.stringify(request)}\n`)
    return (await messages.next((heardOf) => heardOf.id === id)).result
  }
  await ask(initialize('raw'), 'init')
  input.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
  const listed = await ask({ jsonrpc: '2.0', id: 'list', method: 'tools/list' }, 'list')
  assert.equal(
    listed?.tools?.map(({ name }) => name),
    ['open', 'kept'],
  )
  const params = { name: 'kept', arguments: {} }
  const called = await ask({ jsonrpc: '2.0', id: 'call', method: 'tools/call', params }, 'call')
  assert.is(called?.content?.[0]?.text, 'undefined')
  assert.is(warnings.all.filter(({ code }) => code === 'CADUCEUS_SCOPES').length, 1)
})

test.run()
