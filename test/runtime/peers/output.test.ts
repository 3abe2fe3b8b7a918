// second tier: time
import * as assert from 'uvu/assert'
import { suite } from '../../support/suite.js'
import { runProgram, runtimeUrl } from '../_program.js'

const test = suite('what a peer prints', { timeout: 30_000 })
const module = new URL('./_printer.js', import.meta.url).href
const fragile = new URL('./_fragile.js', import.meta.url).href
const lines = 5_000

for (const kind of ['thread', 'process'] as const) {
  for (const then of ['exit', 'spin', 'nothing'] as const) {
    test(`OTP-137 ${kind}: output goes to stderr to the last line (${then})`, async (t) => {
      const program = `
        import { definePeer, startActor } from ${JSON.stringify(runtimeUrl)}
        const options = { kind: '${kind}', module: ${JSON.stringify(module)}, blockedTimeout: 2000 }
        const peer = await startActor(definePeer(options), undefined, { startTimeout: 20000, logger: false })
        const ended = new Promise((resolve) => peer.onExit(resolve))
        peer.cast('print', { lines: ${lines}, then: '${then}' })
        if ('${then}' === 'nothing') await peer.stop()
        await ended
        console.log('protocol')`
      const { code, stdout, stderr } = await runProgram(t, program)
      assert.is(stdout, 'protocol\n')
      assert.is(code, 0)
      const expected = [...Array.from({ length: lines }, (_, i) => `line ${i}`), 'to stderr', 'last']
      assert.equal(stderr.split('\n').slice(0, lines + 2), expected)
    })
  }
}

for (const kind of ['thread', 'process'] as const) {
  test(`${kind}: peer logs go to the logger of the parent tree`, async (t) => {
    const program = (options: string): string => `
      import { definePeer, startActor } from ${JSON.stringify(runtimeUrl)}
      const options = { kind: '${kind}', module: ${JSON.stringify(fragile)} }
      const peer = await startActor(definePeer(options), undefined, { startTimeout: 20000, ${options} })
      peer.cast('crash')
      await new Promise((resolve) => peer.onExit(resolve))`
    assert.is((await runProgram(t, program('logger: false'))).stderr, '')
    assert.is((await runProgram(t, program(`logLevels: { crash: 'silent' }`))).stderr, '')
    assert.match((await runProgram(t, program(''))).stderr, /out of order[\s\S]*out of order/)
  })
}

test.run()
