import { once } from 'node:events'
import { createServer } from 'node:http'
import { defineServer } from 'caduceus'
import { fromOpenApi } from 'caduceus/openapi'
import { connect } from 'caduceus/testing'

// an API as others have it, and its document
const shop = createServer((request, response) => {
  const isKnown = request.headers.authorization === 'Bearer secret-of-the-shop'
  response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' })
  response.end(isKnown ? JSON.stringify({ id: 7, name: 'Rex' }) : '{"error":"who are you?"}')
}).listen(0, '127.0.0.1')
await once(shop, 'listening')
const { port } = shop.address() as { port: number }

const document = `
openapi: 3.1.0
info: { title: Pet shop, version: 1.0.0 }
servers: [{ url: "http://127.0.0.1:${port}/v1" }]
security: [{ token: [] }]
paths:
  /pets/{petId}:
    parameters: [{ name: petId, in: path, required: true, schema: { type: integer } }]
    get:
      operationId: getPet
      tags: [pets]
      summary: One pet of the shop
      responses:
        200:
          description: The pet
          content: { application/json: { schema: { $ref: "#/components/schemas/Pet" } } }
    delete: { operationId: sellPet, tags: [money], responses: {} }
components:
  securitySchemes: { token: { type: http, scheme: bearer } }
  schemas:
    Pet: { type: object, properties: { id: { type: integer }, name: { type: string } } }
`

const api = await fromOpenApi(document, {
  include: ['pets'],
  auth: { token: () => 'secret-of-the-shop' }, // or (ctx) => ctx.credentials().then(({ accessToken }) => accessToken)
})
const server = defineServer({ name: 'shop', version: '1.0.0', tools: api.tools })

await using pair = await connect(server)
for await (const { name, description } of pair.client.tools()) console.log(name, '-', description)
console.log((await pair.client.callTool('getPet', { petId: 7 })).structuredContent)
console.log((await pair.client.callTool('getPet', { petId: '../7' })).isError)
await api.close()
shop.close()
