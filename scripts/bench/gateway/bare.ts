import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answer } from '../asked-program.js'

/** What a gateway cannot be cheaper than: passes bytes on, and knows nothing of them. */
const port = Number(process.argv[2])
const agent = new Agent({ keepAlive: true })
const server = createServer({ keepAliveTimeout: 600_000 }, (incoming, response) => {
  const { method = 'POST', url = '/', headers } = incoming
  const outgoing = request({ host: '127.0.0.1', port, agent, method, path: url, headers }, (answered) => {
    response.writeHead(answered.statusCode ?? 502, answered.headers)
    answered.pipe(response)
  })
  outgoing.on('error', () => response.destroy())
  incoming.pipe(outgoing)
})
server.listen(0, '127.0.0.1', () => answer({ port: () => (server.address() as AddressInfo).port }))
