import * as assert from 'uvu/assert'
import { type Client, subscribeClient, type WarningEvent } from 'caduceus/client'
import { http } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { json, listen, result, type Seen, stream } from '../../transports/_http.js'
import { complete, refuse, stateless, tool } from '../_modern.js'
import { rejection, watch } from '../_raw.js'

const test = suite('arguments that are repeated in headers')

function schema(properties: object): object {
  return { type: 'object', properties }
}

const good = {
  name: 'good',
  inputSchema: schema({
    region: { type: 'string', 'x-mcp-header': 'Region' },
    deep: schema({ count: { type: 'integer', 'x-mcp-header': 'Count' } }),
    plain: { type: 'string' },
  }),
}
const bad = {
  name: 'bad',
  inputSchema: schema({ list: { type: 'array', items: { type: 'string', 'x-mcp-header': 'Item' } } }),
}

function withTools(tools: readonly object[], call: (seen: Seen) => unknown = (seen) => tool(seen, 'done')) {
  return stateless((seen) => {
    if (seen.message.method === 'tools/list') json(seen, result(seen, { tools, ...complete }))
    else call(seen)
  })
}

function paramHeaders({ headers }: Seen): object {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('mcp-param-')))
}

test('arguments of a listed tool are mirrored in headers; of others, none', async (t) => {
  const { url, seen } = await listen(t, withTools([good]))
  const { client } = watch(t, { transport: http(url), era: 'modern' })
  const call = async (args: Record<string, unknown>): Promise<object> => {
    await client.callTool('good', args)
    return paramHeaders(await seen.next(({ message }) => message.method === 'tools/call'))
  }
  const args = { region: 'süd', deep: { count: 42 }, plain: 'x' }
  assert.equal(await call(args), {})
  await client.listTools()
  const region = `=?base64?${Buffer.from('süd').toString('base64')}?=`
  assert.equal(await call(args), { 'mcp-param-region': region, 'mcp-param-count': '42' })
  assert.equal(await call({ region: null, plain: 'x' }), {})
})

test('a tool that breaks the rules is left out with a warning, and the others stay', async (t) => {
  const { url } = await listen(t, withTools([bad, good]))
  const warnings = heard<WarningEvent>()
  t.after(subscribeClient('warning', warnings.add))
  const { client } = watch(t, { transport: http(url), era: 'modern', name: 'strict' })
  const { tools } = await client.listTools()
  assert.equal(
    tools.map(({ name }) => name),
    ['good'],
  )
  const [warning] = warnings.all
  assert.is(warning?.type, 'bad_tool')
  assert.is(warning?.tool, 'bad')
  assert.is(warning?.client, 'strict')
  assert.match(warning?.reason ?? '', 'x-mcp-header')
})

test('a call refused for missing headers is retried once after tools/list', async (t) => {
  const { url, seen } = await listen(
    t,
    withTools([good], (one) => {
      if (one.headers['mcp-param-region'] === undefined) refuse(one, -32020)
      else tool(one, 'done')
    }),
  )
  const ways: ((client: Client) => Promise<unknown>)[] = [
    async (client) => (await client.callTool('good', { region: 'eu' })).content,
    async (client) =>
      (await client.request('tools/call', { name: 'good', arguments: { region: 'eu' } })).content,
  ]
  for (const [index, call] of ways.entries()) {
    const { client } = watch(t, { transport: http(url), era: 'modern', name: `client ${index}` })
    assert.equal(await call(client), [{ type: 'text', text: 'done' }])
    const methods = seen.all.slice(index * 4).map(({ message }) => message.method)
    assert.equal(methods, ['server/discover', 'tools/call', 'tools/list', 'tools/call'])
  }
})

test('a retried call reports its progress, and the tools/list in between does not', async (t) => {
  const { url, seen } = await listen(
    t,
    withTools([good], (one) => {
      if (one.headers['mcp-param-region'] === undefined) return refuse(one, -32020)
      const { progressToken } = (one.message.params?._meta ?? {}) as { progressToken?: number }
      const response = stream(one)
      const say = (message: object) =>
        response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
      say({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
      say(result(one, { resultType: 'complete', content: [{ type: 'text', text: 'done' }] }))
      response.end()
    }),
  )
  const { client } = watch(t, { transport: http(url), era: 'modern' })
  const told = heard<number>()
  const onProgress = ({ progress }: { progress: number }) => told.add(progress)
  assert.is((await client.callTool('good', { region: 'eu' }, { onProgress })).text, 'done')
  assert.is(await told.next(), 1)
  const tokens = seen.all.map(({ message }) => {
    const meta = message.params?._meta as Record<string, unknown> | undefined
    return [message.method, meta !== undefined && 'progressToken' in meta]
  })
  assert.equal(tokens.slice(1), [
    ['tools/call', true],
    ['tools/list', false],
    ['tools/call', true],
  ])
})

test('a second refusal for headers is the answer of the call', async (t) => {
  const { url, seen } = await listen(
    t,
    withTools([good], (one) => refuse(one, -32020)),
  )
  const { client } = watch(t, { transport: http(url), era: 'modern' })
  assert.is((await rejection(client.callTool('good', { region: 'eu' }))).code, -32020)
  assert.is(seen.all.filter(({ message }) => message.method === 'tools/call').length, 2)
})

test.run()
