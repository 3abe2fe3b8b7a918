import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, stop } from 'esbuild'
import * as assert from 'uvu/assert'
import { inRoot } from '../support/root.js'
import { type Outcome, runNode } from '../support/project.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('a program in one file', { timeout: 30_000 })

test('an ES module without `require` writes its reports', async (t) => {
  const { code, output } = await runBundled(
    t,
    `
    import { startSupervisor } from ${JSON.stringify(inRoot('.t', 'runtime', 'index.js'))}
    await startSupervisor({ strategy: 'one_for_one' })
    setTimeout(() => { setTimeout(() => process.exit(0), 300); throw new Error('told') }, 10)
  `,
  )
  assert.is(code, 0, output)
  assert.match(output, /"level":50.*"msg":"stray error"/)
})

test('a peer in a one-file bundle fails and says why', async (t) => {
  const module = pathToFileURL(inRoot('.t', 'test', 'runtime', 'peers', '_counter.js')).href
  const { output } = await runBundled(
    t,
    `
    import { definePeer } from ${JSON.stringify(inRoot('.t', 'runtime', 'index.js'))}
    try {
      definePeer({ kind: 'thread', module: ${JSON.stringify(module)} })
    } catch ({ code, message }) {
      console.log(code, message)
    }
  `,
  )
  assert.match(output, /BAD_OPTION module: expected caduceus as an external package .* got "file:/)
})

test('an isolated handler in a one-file bundle fails the start and says what to do', async (t) => {
  const handler = pathToFileURL(inRoot('.t', 'test', 'examples', 'definitions', 'matches.js')).href
  const { output } = await runBundled(
    t,
    `
    import { defineServer, defineTool, serveHttp, startServer } from ${JSON.stringify(inRoot('.t', 'index.js'))}
    const tools = [defineTool({ name: 'a', isolate: 'thread', module: new URL(${JSON.stringify(handler)}) })]
    const definition = defineServer({ name: 'one file', version: '1', tools })
    await startServer(definition, { transport: serveHttp() }).catch(({ message }) => console.log(message))
  `,
  )
  assert.match(
    output,
    /isolate: .* start from files of caduceus, and file:.*worker\.js is not there: bundle the program with caduceus as an external package/,
  )
})

async function runBundled(t: TestContext, contents: string): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'bundle-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  t.after(() => stop())
  const outfile = join(folder, 'program.mjs')
  const stdin = { contents, resolveDir: folder }
  await build({ stdin, bundle: true, format: 'esm', platform: 'node', outfile, logLevel: 'error' })
  return runNode([outfile], folder, t.signal)
}

test.run()
