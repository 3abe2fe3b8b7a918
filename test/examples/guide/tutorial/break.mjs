import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { http, startClient } from 'caduceus'

const folder = mkdtempSync(join(tmpdir(), 'notes-'))
const program = new URL('./server.mjs', import.meta.url)

async function serve(port) {
  const env = { ...process.env, PORT: String(port), FOLDER: folder }
  const child = spawn(process.execPath, [program.pathname], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const [line] = await once(child.stdout, 'data')
  return { child, url: String(line).trim() }
}

const first = await serve(0)
const client = startClient({ name: 'me', transport: http(first.url) })
console.log((await client.callTool('add', { note: 'buy tea' })).text)

first.child.kill('SIGKILL') // no time to say goodbye
await once(first.child, 'exit')
console.log('the server is dead')

const waiting = client.callTool('add', { note: 'buy milk' }, { retry: { attempts: 5, safe: true } })
const second = await serve(new URL(first.url).port)
console.log((await waiting).text)

await client.close()
second.child.kill()
