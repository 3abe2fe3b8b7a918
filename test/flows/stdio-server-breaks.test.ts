// second tier: time
// time limit: 60 s
import * as assert from 'uvu/assert'
import { type Phase, startClient } from 'caduceus/client'
import { stdio } from 'caduceus/transports'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('a stdio server breaks inside', { timeout: 30_000 })

function startCounting(t: { after(undo: () => unknown): void }) {
  const program = inRoot('.t', 'test', 'transports', 'stdio', '_program.js')
  const client = startClient({
    transport: stdio({ command: process.execPath, args: [program] }),
    backoff: { base: 10 },
    logger: false,
  })
  t.after(() => client.close())
  const phases: Phase[] = []
  client.onState(({ phase }) => phases.push(phase))
  return { client, phases }
}

for (const name of ['base', 'transport', 'tasks', 'sessions', 'group']) {
  test(`its ${name} is killed: the session continues in the same process`, async (t) => {
    const { client, phases } = startCounting(t)
    assert.is((await client.callTool('count')).text, '1')
    await client.callTool('break', { name })
    const counts: string[] = []
    while (counts.length < 1) {
      const result = await client.callTool('count').catch((error) => error)
      if (result instanceof Error)
        assert.ok((result as Error & { retryable: boolean }).retryable, result.message)
      else counts.push(result.text)
    }
    assert.equal(counts, ['2'])
    assert.equal(phases.filter((phase) => phase === 'ready').length, 1, 'nobody had to connect again')
  })
}

test('when the holder of sessions is killed, program and client start anew', async (t) => {
  const { client, phases } = startCounting(t)
  assert.is((await client.callTool('count')).text, '1')
  const again = new Promise<void>((resolve) => {
    client.onState(({ phase }) => phase === 'ready' && resolve())
  })
  await client.callTool('break', { name: 'holdings' })
  await again
  assert.is((await client.callTool('count')).text, '1', 'a new session in a new process')
  assert.ok(phases.includes('disconnected'))
})

test.run()
