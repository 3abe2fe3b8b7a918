import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { inRoot } from '../../support/root.js'
import { suite } from '../../support/suite.js'
import { runtimeUrl } from '../_program.js'

const test = suite('orphans', { timeout: 30_000 })
const module = new URL('./_glutton.js', import.meta.url).href

for (const what of ['spin', 'nothing'] as const) {
  test(`OTP-120 a peer process ends with its killed parent (${what})`, async (t) => {
    const text = `
      import { definePeer, startActor } from ${JSON.stringify(runtimeUrl)}
      const options = { kind: 'process', module: ${JSON.stringify(module)}, blockedTimeout: Infinity }
      const peer = await startActor(definePeer(options), undefined, { startTimeout: 20000 })
      console.log(await peer.call('pid'))
      if ('${what}' === 'spin') peer.call('spin', undefined, { timeout: Infinity })
      // the call before has been taken
      setTimeout(() => console.log('go'), 100)`
    const args = ['--input-type=module', '--eval', text]
    const parent = spawn(process.execPath, args, { cwd: inRoot(), signal: t.signal, killSignal: 'SIGKILL' })
    // the orphan has it open for as long as it lives
    const closed = once(parent.stderr, 'close')
    parent.stderr.resume()
    let said = ''
    parent.stdout.setEncoding('utf8')
    for await (const chunk of parent.stdout) {
      said += chunk
      if (said.includes('go')) break
    }
    const pid = Number.parseInt(said, 10)
    t.after(() => isThere(pid) && process.kill(pid, 'SIGKILL'))
    assert.ok(isThere(pid))
    parent.kill('SIGKILL')
    await closed
  })
}

test.run()

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
