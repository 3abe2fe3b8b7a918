// second tier: terminal
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { suite } from '../support/suite.js'
import { newHome, overStdio, program, serverFile } from './_caduceus.js'
import { commandLine, openTerminal, withTerminal } from './_terminal.js'

const test = withTerminal(suite('caduceus in a terminal', { timeout: 30_000 }))
const ours = [process.execPath, program] as const

test('progress shows a bar, and Ctrl-C aborts the call with exit code 130', async (t) => {
  const home = newHome(t)
  const { type, shows } = openTerminal(t, home, commandLine(...ours, 'call', 'wait', ...overStdio))
  await shows('######.................. 25 % waiting')
  type('C-c')
  await shows('exit 130')
})

test('a secret input of a file is typed without echo', async (t) => {
  const home = newHome(t)
  const file = join(home, 'mcp.json')
  const args = [serverFile, '--stdio']
  const sample = { command: process.execPath, args, env: { TOKEN: '${' + 'input:token}' } }
  const inputs = [{ id: 'token', type: 'promptString', description: 'The token', password: true }]
  writeFileSync(file, JSON.stringify({ servers: { sample }, inputs }))
  const line = commandLine(...ours, 'call', 'sample', 'echo', 'message=hi', '--config', file)
  const { type, shows, screen } = openTerminal(t, home, line)
  await shows('The token:')
  type('very secret', 'Enter')
  await shows('exit 0')
  assert.ok(screen().includes('\nhi\n'), screen())
  assert.not.ok(screen().includes('secret'), screen())
})

test('Ctrl-C stops serve in order, and crashes are shown in words', async (t) => {
  const home = newHome(t)
  const { type, shows } = openTerminal(t, home, commandLine(...ours, 'serve', serverFile, '--http', '0'))
  await shows('sample is served at http://127.0.0.1:')
  type('C-c')
  await shows('exit 0')
})

test.run()
