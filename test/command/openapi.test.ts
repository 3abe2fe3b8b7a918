// second tier: time
// shares a process
import { EventEmitter, once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { until } from 'caduceus/testing'
import { suite, type TestContext } from '../support/suite.js'
import { caduceus, newHome } from './_caduceus.js'
import { begin, connectTo, servedAt } from './_serve.js'

const test = suite('caduceus serve, of an API', { timeout: 30_000 })

const document = (url: string) => `openapi: 3.0.3
info: { title: Pets, version: 1.2.3 }
servers: [{ url: "${url}" }]
security: [{ token: [] }]
paths:
  /pets/{id}:
    get:
      operationId: getPet
      tags: [pets]
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
      responses: { 200: { description: ok } }
    delete: { operationId: deletePet, tags: [danger], responses: {} }
components: { securitySchemes: { token: { type: http, scheme: bearer } } }
`

async function startPets(t: TestContext) {
  const arrival = new EventEmitter()
  const asked: { url: string | undefined; headers: IncomingHttpHeaders }[] = []
  const server = createServer(({ url, headers }, response) => {
    asked.push({ url, headers })
    if (url === '/openapi.json') return void response.end(document('/'))
    if (url === '/pets/slow') return void arrival.emit('slow')
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"name":"Rex"}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    arrived: once(arrival, 'slow'),
  }
}

test('a document is served, with a credential of the environment', async (t) => {
  const { url, asked } = await startPets(t)
  const home = newHome(t)
  writeFileSync(join(home, 'openapi.yaml'), document(url))
  for (const given of ['openapi.yaml', `${url}/openapi.json`]) {
    const args = ['serve', given, '--http', '0', '--exclude', 'danger']
    const { line, stop } = begin(t, args, home, { CADUCEUS_AUTH_BEARER: 'secret-1' })
    const [, address = ''] = await line(servedAt)
    const client = connectTo(t, address)
    const { tools } = await client.listTools()
    assert.equal(
      tools.map(({ name }) => name),
      ['getPet'],
    )
    assert.is((await client.callTool('getPet', { id: '7' })).text, '{"name":"Rex"}')
    assert.is(asked.at(-1)?.url, '/pets/7')
    assert.is(asked.at(-1)?.headers.authorization, 'Bearer secret-1')
    await client.close()
    assert.is(await stop(), 0)
  }
})

test('an entry of a host file may be an API', async (t) => {
  const { url, asked } = await startPets(t)
  const home = newHome(t)
  writeFileSync(join(home, 'openapi.yaml'), document('https://api.example.com'))
  const pets = {
    openapi: './openapi.yaml',
    baseUrl: `${url}/v1`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: variables of the file
    auth: { bearer: '${TOKEN}' },
    include: ['pets'],
  }
  writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers: { pets } }))
  const { line, stop } = begin(t, ['serve', 'mcp.json', '--http', '0'], home, { TOKEN: 'secret-1' })
  const [, address = ''] = await line(servedAt)
  const client = connectTo(t, address)
  const { tools } = await client.listTools()
  assert.equal(
    tools.map(({ name }) => name),
    ['pets__getPet'],
  )
  assert.is((await client.callTool('pets__getPet', { id: '7' })).text, '{"name":"Rex"}')
  assert.is(asked.at(-1)?.url, '/v1/pets/7')
  assert.is(asked.at(-1)?.headers.authorization, 'Bearer secret-1')
  await client.close()
  assert.is(await stop(), 0)
})

/** A file of a host with that API, whose server also has an operation that never answers. */
function placeOf(t: TestContext, url: string, section: object = {}) {
  const home = newHome(t)
  const write = (text: string): void => writeFileSync(join(home, 'api', 'openapi.yaml'), text)
  mkdirSync(join(home, 'api'))
  write(document(url))
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the file
  const pets = { openapi: './openapi.yaml', auth: { bearer: '${file:token}' }, include: ['pets'] }
  const broken = { openapi: './missing.yaml' }
  writeFileSync(join(home, 'api', 'token'), 'secret-1')
  const file = join(home, 'api', 'mcp.json')
  writeFileSync(
    file,
    JSON.stringify({ mcpServers: { pets, broken }, caduceus: { listen: { port: 0 }, ...section } }),
  )
  return { home, file, write }
}

test('commands take an API of a host file by its name', async (t) => {
  const { url, asked } = await startPets(t)
  const { home, file } = placeOf(t, url)
  const at = ['--config', file]
  const called = await caduceus(t, ['call', 'pets', 'getPet', 'id=7', ...at, '--header', 'X-Who: ada'], {
    home,
  })
  assert.equal(called, { code: 0, out: '{"name":"Rex"}\n', err: '' })
  assert.is(asked.at(-1)?.url, '/pets/7')
  assert.is(asked.at(-1)?.headers.authorization, 'Bearer secret-1')
  assert.is(asked.at(-1)?.headers['x-who'], 'ada')
  for (const [args, text] of [
    [['list', 'pets'], /^Pets 1\.2\.3 .*\n\ntools\n {2}getPet\(id\)/s],
    [['check', 'pets'], /^1 tools, 0 resources/m],
    [['types', 'pets'], /readonly getPet: \{/],
  ] as const) {
    const { code, out, err } = await caduceus(t, [...args, ...at], { home })
    assert.equal([code, err], [0, ''], err)
    assert.match(out.trim(), text)
  }
  const shell = await caduceus(t, ['shell', 'pets', ...at], { home, input: 'getPet id=8\n' })
  assert.equal([shell.code, shell.out.includes('{"name":"Rex"}')], [0, true], shell.err)
  assert.is(asked.at(-1)?.url, '/pets/8')

  const broken = await caduceus(t, ['list', 'broken', ...at], { home })
  assert.is(broken.code, 2)
  assert.match(broken.err, /^caduceus: \S+mcp\.json: broken: .*missing\.yaml cannot be read: .*\n$/)
  const era = await caduceus(t, ['list', 'pets', '--era', 'old', ...at], { home })
  assert.is(era.code, 2)
  assert.match(era.err, /^caduceus: --era: expected .*\n$/)
})

test('a signal ends a call of an API that does not answer', async (t) => {
  const { url, arrived } = await startPets(t)
  const { home, file } = placeOf(t, url)
  const { child, ended } = begin(t, ['call', 'pets', 'getPet', 'id=slow', '--config', file], home)
  await arrived
  child.kill('SIGINT')
  assert.is(await ended, 130)
})

test('what an API offers is pinned, held back, and accepted with trust', async (t) => {
  const { url } = await startPets(t)
  const { home, file, write } = placeOf(t, url, { pin: 'strict' })
  const trust = ['trust', 'pets', '--file', file, '--json']
  const looked = await caduceus(t, trust, { home })
  assert.equal([looked.code, /1 changes are not accepted/.test(looked.out)], [2, true], looked.out)
  const changes = [{ of: 'tool getPet', kind: 'new' }]
  const accepted = await caduceus(t, [...trust, '--yes'], { home })
  assert.equal([accepted.code, JSON.parse(accepted.out)], [0, { server: 'pets', changes, accepted: true }])
  const offered = async (): Promise<string> => {
    const { line, stop } = begin(t, ['serve', file], home)
    const [, address = ''] = await line(servedAt)
    const client = connectTo(t, address)
    const answer = await client.callTool('pets__getPet', { id: '7' }).then(({ text }) => text, String)
    await client.close()
    assert.is(await stop(), 0)
    return answer
  }
  assert.is(await offered(), '{"name":"Rex"}')
  write(document(url).replace('operationId: getPet', 'operationId: getPet\n      description: Another one.'))
  assert.match(await offered(), /has changed since it was pinned/)
  assert.is((await caduceus(t, [...trust, '--yes'], { home })).code, 0)
  assert.is(await offered(), '{"name":"Rex"}')
})

test('a document that has changed counts at SIGHUP, and the others go on', async (t) => {
  const { url } = await startPets(t)
  const home = newHome(t)
  const api = { openapi: './openapi.yaml', baseUrl: url, include: ['pets'] }
  writeFileSync(join(home, 'openapi.yaml'), document(url))
  writeFileSync(join(home, 'other.yaml'), document(url))
  const mcpServers = { pets: api, other: { ...api, openapi: './other.yaml' } }
  writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers }))
  const { line, stop, child } = begin(t, ['serve', 'mcp.json', '--http', '0'], home)
  const [, address = ''] = await line(servedAt)
  const client = connectTo(t, address)
  const names = async () => (await client.listTools()).tools.map(({ name }) => name).sort()
  await until(async () => (await names()).length === 2)
  child.kill('SIGHUP')
  await line(/nothing has changed/)
  writeFileSync(join(home, 'openapi.yaml'), document(url).replace('getPet', 'showPet'))
  child.kill('SIGHUP')
  await line(/mcp.json: pets has changed/)
  await until(async () => (await names()).join() === 'other__getPet,pets__showPet')
  // one that cannot be read changes nothing
  rmSync(join(home, 'openapi.yaml'))
  child.kill('SIGHUP')
  await line(/it stays as it was/)
  assert.equal(await names(), ['other__getPet', 'pets__showPet'])
  await client.close()
  assert.is(await stop(), 0)
})

test('what is no document is told', async (t) => {
  const home = newHome(t)
  writeFileSync(join(home, 'a.yaml'), 'a: 1\n')
  const { code, err } = await caduceus(t, ['serve', 'a.yaml'], { home })
  assert.is.not(code, 0)
  assert.match(err, 'expected OpenAPI 2.0, 3.0 or 3.1')
})

test.run()
