// second tier: time
// shares a process
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
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
  const asked: { url: string | undefined; headers: IncomingHttpHeaders }[] = []
  const server = createServer(({ url, headers }, response) => {
    asked.push({ url, headers })
    if (url === '/openapi.json') return void response.end(document('/'))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"name":"Rex"}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
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

test('what is no document is told', async (t) => {
  const home = newHome(t)
  writeFileSync(join(home, 'a.yaml'), 'a: 1\n')
  const { code, err } = await caduceus(t, ['serve', 'a.yaml'], { home })
  assert.is.not(code, 0)
  assert.match(err, 'expected OpenAPI 2.0, 3.0 or 3.1')
})

test.run()
