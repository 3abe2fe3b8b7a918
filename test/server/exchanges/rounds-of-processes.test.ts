import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { RawClient } from '../_client.js'
import { inTurn } from './_rounds.js'
import { suiteOfRounds } from './_rounds-suite.js'

const program = fileURLToPath(new URL('./_rounds-program.js', import.meta.url))
const key = 'a secret of the tests, and of nobody else'
const programs: { readonly child: ChildProcess; readonly url: string }[] = []

const test = suiteOfRounds({
  name: 'two programs in turn',
  async start(t) {
    while (programs.length < 2) programs.push(await startProgram())
    return inTurn(programs.map(({ url }) => new RawClient(t, url)))
  },
})

async function startProgram() {
  const child = spawn(process.execPath, [program, 'http', key], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  return { child, url: String(line).trim() }
}

test('the programs are two, and live until they are ended', async () => {
  assert.is(new Set(programs.map(({ url }) => url)).size, 2)
  for (const { child } of programs) {
    assert.equal([child.exitCode, child.signalCode], [null, null])
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
})

test.run()
