// Makes a client of every transport while there is no file descriptor, gives them back, and says what each of them was answered.
//   node _scarce-clients.js URL SSE-URL WEBSOCKET-URL
import { startClient } from '../../client/handle/supervisor.js'
import { http } from '../../transports/http/client/client.js'
import { sse } from '../../transports/http/client/sse.js'
import { stdio } from '../../transports/stdio/client.js'
import { websocket } from '../../transports/websocket/client.js'
import { Descriptors } from './_descriptors.js'

const [, , url = '', sseUrl = '', webSocketUrl = '', program = ''] = process.argv
const descriptors = new Descriptors()
descriptors.takeAll()
const transports = {
  http: http(url),
  sse: sse(sseUrl),
  websocket: websocket(webSocketUrl),
  stdio: stdio({ command: process.execPath, args: [program, 'stdio'] }),
}
const clients = Object.entries(transports).map(([name, transport]) =>
  startClient({ name, transport, logger: false }),
)
const calls = clients.map((client) => client.callTool('echo', { text: 'hello' }, { timeout: 60_000 }))
await new Promise((resolve) => setTimeout(resolve, 1_500))
const early = clients.filter((client) => client.state.phase === 'failed' || client.state.phase === 'closed')
descriptors.giveBack()
const texts = await Promise.all(calls.map((call) => call.then(({ text }) => text, String)))
console.log(JSON.stringify({ early: early.length, texts }))
await Promise.all(clients.map((client) => client.close()))
