// second tier: time
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'
import { runBundled } from './_one-file.js'

const test = suite('a program in one file', { timeout: 30_000 })

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

test.run()
