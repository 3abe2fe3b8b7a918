import * as assert from 'uvu/assert'
import { McpError } from 'caduceus/protocol'
import { defineResource, defineResourceTemplate, defineTool } from 'caduceus/server'
import { suite } from '../../support/suite.js'
import { initialize, RawClient } from '../_client.js'
import { killAndWait, startParts } from '../_servers.js'

const test = suite('server resources')

const readme = defineResource({
  uri: 'docs:readme',
  name: 'readme',
  title: 'Read me',
  description: 'Where to begin.',
  mimeType: 'text/plain',
  size: 5,
  read: () => 'hello',
})
const file = defineResourceTemplate({
  uriTemplate: 'files:///{+path}',
  name: 'file',
  mimeType: 'text/x',
  read: ({ path }) => (path === 'gone' ? undefined : `contents of ${path}`),
  complete: { path: (value, chosen) => [`${value}1`, `${value}2`, JSON.stringify(chosen)] },
})

test('resources and templates are listed with their metadata', async (t) => {
  const { client } = await startParts(t, { resources: [readme], resourceTemplates: [file] })
  assert.equal((await client.ask('resources/list')).result, {
    resources: [
      {
        uri: 'docs:readme',
        name: 'readme',
        title: 'Read me',
        description: 'Where to begin.',
        mimeType: 'text/plain',
        size: 5,
      },
    ],
  })
  assert.equal((await client.ask('resources/templates/list')).result, {
    resourceTemplates: [{ uriTemplate: 'files:///{+path}', name: 'file', mimeType: 'text/x' }],
  })
})

test('the value of a resource becomes contents with uri and type', async (t) => {
  const whole = {
    contents: [
      { uri: 'other:1', text: 'one' },
      { uri: 'other:2', text: 'two' },
    ],
  }
  const reads: Record<string, () => never> = {
    bytes: () => new Uint8Array([1, 2, 3]) as never,
    contents: () => ({ text: '{}', mimeType: 'application/json' }) as never,
    several: () => ['a', { uri: 'x:sub', blob: 'AA==' }] as never,
    whole: () => whole as never,
  }
  const resources = Object.entries(reads).map(([name, read]) =>
    defineResource({ uri: `x:${name}`, name, read }),
  )
  const { client } = await startParts(t, { resources: [readme, ...resources], resourceTemplates: [file] })
  const read = async (uri: string) => (await client.ask('resources/read', { uri })).result?.contents
  assert.equal(await read('docs:readme'), [{ uri: 'docs:readme', mimeType: 'text/plain', text: 'hello' }])
  assert.equal(await read('x:bytes'), [{ uri: 'x:bytes', blob: 'AQID' }])
  assert.equal(await read('x:contents'), [{ uri: 'x:contents', mimeType: 'application/json', text: '{}' }])
  assert.equal(await read('x:several'), [
    { uri: 'x:several', text: 'a' },
    { uri: 'x:sub', blob: 'AA==' },
  ])
  assert.equal(await read('x:whole'), whole.contents)
  assert.equal(await read('files:///a/b%20c'), [
    { uri: 'files:///a/b%20c', mimeType: 'text/x', text: 'contents of a/b c' },
  ])
})

test('a missing resource is refused, and a throwing one fails its request only', async (t) => {
  const bad = defineResource({ uri: 'x:bad', name: 'bad', read: () => 7 as never })
  const crash = defineResource({
    uri: 'x:crash',
    name: 'crash',
    read() {
      throw new Error('secret')
    },
  })
  const own = defineResource({
    uri: 'x:own',
    name: 'own',
    read() {
      throw new McpError(-32050, 'closed on Sundays')
    },
  })
  const slow = defineResource({ uri: 'x:slow', name: 'slow', timeout: 10, read: () => new Promise(() => {}) })
  const { client } = await startParts(t, { resources: [bad, crash, own, slow], resourceTemplates: [file] })
  const failed = async (uri: string) => (await client.ask('resources/read', { uri })).error
  for (const uri of ['x:none', 'files:///gone', '', `none:${'a'.repeat(8_187)}`]) {
    const { code, data } = (await failed(uri)) ?? {}
    assert.equal([code, data], [-32002, { uri }])
  }
  const long = await failed(`files:///${'a'.repeat(8_184)}`)
  assert.equal(
    [long?.code, long?.message],
    [-32602, 'params.uri: expected 8192 characters at most, got 8193'],
  )
  for (const uri of ['x:bad', 'x:crash']) {
    const error = await failed(uri)
    assert.is(error?.code, -32603)
    assert.not.match(String(error?.message), /secret/)
  }
  assert.equal(await failed('x:own'), { code: -32050, message: 'closed on Sundays' })
  assert.match(String((await failed('x:slow'))?.message), /^reading the resource took longer than 10 ms/)
  assert.equal((await client.ask('ping')).result, {})
})

test('only subscribed sessions hear that a resource changed, until they unsubscribe', async (t) => {
  const { server, client } = await startParts(t, { resources: [readme], resourceTemplates: [file] })
  const other = await new RawClient(t, server.url).open()
  const [stream, quiet] = await Promise.all([client.listen(), other.listen()])
  for (const uri of ['docs:readme', 'files:///a'])
    assert.equal((await client.ask('resources/subscribe', { uri })).result, {})
  assert.is((await client.ask('resources/subscribe', { uri: 'x:none' })).error?.code, -32002)
  assert.equal((await other.ask('resources/subscribe', { uri: 'files:///b' })).result, {})
  await server.resourceUpdated('files:///a')
  await server.resourceUpdated('docs:readme')
  assert.equal((await stream.next()).params, { uri: 'files:///a' })
  assert.equal((await stream.next()).params, { uri: 'docs:readme' })
  await client.ask('resources/unsubscribe', { uri: 'docs:readme' })
  await server.resourceUpdated('docs:readme')
  await server.resourceUpdated('files:///b')
  await server.resourceUpdated('files:///a')
  assert.equal(await stream.next(), {
    jsonrpc: '2.0',
    method: 'notifications/resources/updated',
    params: { uri: 'files:///a' },
  })
  assert.equal((await quiet.next()).params, { uri: 'files:///b' })
})

test('a subscriber without a stream gets a change once, on its next stream', async (t) => {
  const { server, client } = await startParts(t, { resources: [readme], resourceTemplates: [file] })
  for (const uri of ['docs:readme', 'files:///a']) {
    await client.ask('resources/subscribe', { uri })
    await server.resourceUpdated(uri)
    await server.resourceUpdated(uri)
  }
  await client.ask('resources/unsubscribe', { uri: 'files:///a' })
  const stream = await client.listen()
  assert.equal((await stream.next()).params, { uri: 'docs:readme' })
  await server.addResource(defineResource({ uri: 'x:new', name: 'new', read: () => 'x' }))
  assert.is((await stream.next()).method, 'notifications/resources/list_changed')
})

test('a client hears of a change once it has initialized', async (t) => {
  const { server, client } = await startParts(t, { resources: [readme] })
  const early = new RawClient(t, client.url.href)
  early.sessionId = String((await early.post(initialize())).headers['mcp-session-id'])
  const stream = await early.listen()
  await early.ask('resources/subscribe', { uri: 'docs:readme' })
  await server.resourceUpdated('docs:readme')
  await server.addResource(defineResource({ uri: 'x:new', name: 'new', read: () => 'x' }))
  await early.ask('ping')
  await early.tell('notifications/initialized')
  assert.is((await stream.next()).method, 'notifications/resources/list_changed')
  assert.equal((await stream.next()).params, { uri: 'docs:readme' })
})

for (const name of ['test/base', 'test/tasks', 'test/transport', 'test/sessions', 'test/group', 'session']) {
  test(`subscriptions and the log level are kept when ${name} is killed`, async (t) => {
    const speak = defineTool({
      name: 'speak',
      run: (_args, ctx) => [ctx.log('warning', 'w'), ctx.log('error', 'e')].join(),
    })
    const { server, client } = await startParts(t, { tools: [speak], resources: [readme], logging: true })
    await client.ask('resources/subscribe', { uri: 'docs:readme' })
    await client.ask('logging/setLevel', { level: 'error' })
    if (name === 'session') server.registry.whereis(`test/session ${client.sessionId}`)?.kill()
    else await killAndWait(server, name)
    assert.is(await client.text('speak'), 'false,true')
    const stream = await client.listen()
    await server.resourceUpdated('docs:readme')
    // a session that came back tells first what may have changed meanwhile
    let news = await stream.next()
    while (news.method !== 'notifications/resources/updated') news = await stream.next()
    assert.equal(news.params, { uri: 'docs:readme' })
  })
}

test.run()
