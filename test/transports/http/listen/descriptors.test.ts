// second tier: time
// shares a process
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { suite } from '../../../support/suite.js'

const test = suite('a process without descriptors', { timeout: 60_000 })
const program = fileURLToPath(new URL('./_few-descriptors.js', import.meta.url))

if (process.platform === 'linux')
  test('a listener without descriptors says so once and serves its clients', async (t) => {
    const command = `ulimit -n 600; exec "${process.execPath}" "${program}"`
    const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] })
    t.after(() => child.kill('SIGKILL'))
    let told = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (told += text))
    const [line] = await once(child.stdout, 'data', { signal: t.signal })
    const port = Number(String(line))
    const sockets = Array.from({ length: 800 }, () => connect(port, '127.0.0.1').on('error', () => {}))
    t.after(() => sockets.forEach((socket) => void socket.destroy()))
    const [first] = sockets
    if (first === undefined) throw new Error('no socket')
    // beyond the limit the system closes them; loading the program itself takes hundreds
    await new Promise<void>((resolve) => {
      for (const socket of sockets) socket.resume().once('close', () => resolve())
    })
    first.write(`GET /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)
    const [answer] = await once(first, 'data', { signal: t.signal })
    assert.match(String(answer), /^HTTP\/1\.1 406 /)
    assert.is(told.split('[CADUCEUS_DESCRIPTORS]').length - 1, 1, told)
    assert.match(told, /may open 600 files and connections, and has nearly all: raise it/)
  })

test.run()
