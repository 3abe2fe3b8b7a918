// second tier: time
// shares a process
import { fileURLToPath } from 'node:url'
import { stdio } from 'caduceus/transports'
import { transportSuite } from './_suite.js'

const program = fileURLToPath(new URL('./_suite-program.js', import.meta.url))

const test = transportSuite('stdio', async () => ({
  connect: () => stdio({ command: process.execPath, args: [program] }),
  restart: (client) => client.callTool('exit').catch(() => {}),
}))

test.run()
