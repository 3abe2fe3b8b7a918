// A program that shares the client `files` of a raw server at a path: says what the server says, and ends orderly at the end of its input, or with why it cannot share.
//   node _owner.js <raw-server.mjs> <path>
import { shareClients, startClient } from 'caduceus/client'
import { stdio } from 'caduceus/transports'

const [server = '', path = ''] = process.argv.slice(2)
const say = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`)
const transport = stdio({ command: process.execPath, args: [server], stderr: (said) => say({ said }) })
const files = startClient({ name: 'files', transport, logger: false })
try {
  const share = await shareClients(files, { path, logger: false })
  say({ pid: Number((await files.callTool('pid')).text) })
  process.stdin.resume()
  process.stdin.once('end', () => void share.close().then(() => files.close()))
} catch (error) {
  say({ code: (error as { code?: unknown }).code })
  await files.close()
}
