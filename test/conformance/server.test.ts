// second tier: time
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import { makeProject, runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('conformance server', { timeout: 30_000 })

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}

test('the fixture prints its URL, serves and stops in order', async (t) => {
  const fixture = JSON.stringify(pathToFileURL(inRoot('scripts', 'conformance', 'fixture.mjs')).href)
  const project = makeProject(t, {
    'driver.mjs': `import { startFixture } from ${fixture}
const { url, stop } = await startFixture(AbortSignal.timeout(25_000))
const response = await fetch(url, {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  body: ${JSON.stringify(JSON.stringify(initialize))},
})
console.log(new URL(url).hostname, response.status, (await response.text()).includes('caduceus-conformance'))
console.log(JSON.stringify(await stop()))
`,
  })
  const { code, output } = await runNode(['driver.mjs'], project, t.signal)
  assert.is(output, '127.0.0.1 200 true\n[]\n')
  assert.is(code, 0)
})

test('a fixture that exits early is a failed check', async (t) => {
  const fixture = JSON.stringify(pathToFileURL(inRoot('scripts', 'conformance', 'fixture.mjs')).href)
  const project = makeProject(t, {
    'driver.mjs': `import { startFixture } from ${fixture}
const { pid, exited, stop } = await startFixture(AbortSignal.timeout(25_000))
process.kill(pid, 'SIGKILL')
await exited
console.log((await stop()).map(({ status, errorMessage }) => status + ' ' + errorMessage).join())
`,
  })
  const { output } = await runNode(['driver.mjs'], project, t.signal)
  assert.is(output, 'FAILURE the fixture ended by itself: SIGKILL\n')
})

test.run()
