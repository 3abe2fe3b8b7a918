// second tier: time
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, constants, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../support/suite.js'
import { environmentOf, newHome, program } from './_caduceus.js'
import { moduleText } from './_serve.js'

const test = suite('caduceus whose output is not read', { timeout: 30_000 })
const logsMuch = `export const options = { logger: 'json', logLevels: { 'server.request': 'debug' } }\n`

/** A pipe of the system that nobody reads: what is written to it has a mode of its own. */
function unreadPipe(t: TestContext, home: string): number {
  const path = join(home, 'pipe')
  spawnSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(path, constants.O_WRONLY)
  t.after(() => {
    closeSync(reader)
    closeSync(writer)
  })
  return writer
}

for (const kind of ['pipe', 'socket'])
  test(`a server whose standard error is a ${kind} that nobody reads answers`, async (t) => {
    const home = newHome(t)
    writeFileSync(join(home, 'server.mjs'), `${moduleText('hello')}${logsMuch}`)
    const child = spawn(process.execPath, [program, 'serve', 'server.mjs', '--stdio'], {
      cwd: home,
      env: environmentOf(home),
      stdio: ['pipe', 'pipe', kind === 'pipe' ? unreadPipe(t, home) : 'pipe'],
    })
    t.after(() => child.kill('SIGKILL'))
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
    const { stdin, stdout } = child
    if (stdin === null || stdout === null) throw new Error('it has no pipes')
    const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
    const ask = async (method: string, params: object, id: string): Promise<{ result?: object }> => {
      stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
      return JSON.parse((await lines.next()).value as string) as { result?: object }
    }
    const hello = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    }
    assert.ok((await ask('initialize', hello, 'hello')).result)
    // two lines of 500 characters each: 2 MB
    for (let i = 0; i < 2_000; i++)
      assert.ok((await ask('tools/call', { name: 'say' }, `${i}${'x'.repeat(400)}`)).result)
    stdin.end()
    assert.is(await ended, 0)
  })

test.run()
