import {
  defineServer,
  defineTool,
  gateway,
  http,
  serveHttp,
  startClients,
  startServer,
  withClient,
} from 'caduceus'

const serve = (name: string) => {
  const who = defineTool({ name: 'who', run: () => `I am ${name}.` })
  const definition = defineServer({ name, version: '1.0.0', tools: [who] })
  return startServer(definition, { transport: serveHttp(), logger: false })
}
await using one = await serve('one')
await using two = await serve('two')

const servers = { one: { url: one.url ?? '' }, two: { url: two.url ?? '' } }
await using clients = await startClients(servers, { required: 'all', logger: false })
await using front = await startServer(gateway(clients), { transport: serveHttp(), logger: false })

await withClient({ transport: http(front.url ?? '') }, async (client) => {
  console.log((await client.listTools()).tools.map(({ name }) => name).join(', '))
  console.log((await client.callTool('two__who')).text)
})
