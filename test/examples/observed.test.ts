import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { observedPrograms } from 'caduceus/transports'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('the program that may be looked at', { timeout: 20_000 })

test('the observed example prints its page, is found and exits 0 on SIGTERM', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'observed-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const program = inRoot('.t', 'test', 'examples', 'observed.js')
  const env = { ...process.env, PORT: '0', VIEW_PORT: '0', XDG_RUNTIME_DIR: folder }
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout, 'data')
  const { status } = await fetch(String(line).trim(), { redirect: 'manual' })
  assert.is(status, 200)
  process.env.XDG_RUNTIME_DIR = folder
  const [found] = await observedPrograms()
  assert.equal([found?.name, found?.pid], ['calculator', child.pid])
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  assert.is(code, 0)
})

test.run()
