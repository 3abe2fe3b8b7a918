// second tier: time
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import * as assert from 'uvu/assert'
import WebSocket from 'ws'
import { inRoot } from '../../support/root.js'
import { suite } from '../../support/suite.js'
import { initialize } from '../_client.js'

const test = suite('a burst of calls', { timeout: 50_000 })
const calls = 600
/** MiB: a fifth of all answers. */
const heap = 128

test('a session keeps no answer that it has given, however many calls wait', async (t) => {
  const program = inRoot('.t', 'test', 'server', 'runs', '_burst.js')
  const child = spawn(process.execPath, [`--max-old-space-size=${heap}`, program], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  t.after(() => child.kill('SIGKILL'))
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const socket = new WebSocket(url, ['mcp'])
  t.after(() => socket.terminate())
  await once(socket, 'open')
  let answered = 0
  const over = new Promise<string>((resolve) => {
    socket.on('close', (code) => resolve(`closed with ${code}`))
    socket.on('message', () => {
      answered += 1
      if (answered === calls + 1) resolve('all are answered')
    })
  })
  socket.send(JSON.stringify(initialize('burst', '2025-06-18', {})))
  socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))
  for (let id = 1; id <= calls; id++) {
    const params = { name: 'long', arguments: {} }
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }))
  }
  assert.is(await over, 'all are answered')
  child.stdin.end()
  assert.equal(await once(child, 'exit'), [0, null])
})

test.run()
