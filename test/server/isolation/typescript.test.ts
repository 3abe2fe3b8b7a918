// second tier: time
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import { makeProject, runNode } from '../../support/project.js'
import { inRoot } from '../../support/root.js'
import { suite } from '../../support/suite.js'

const test = suite('isolated handlers in TypeScript', { timeout: 30_000 })

const hooks = `
  import { readFile } from 'node:fs/promises'
  import { transform } from 'esbuild'
  export async function load(url, context, next) {
    if (!url.endsWith('.mts')) return next(url, context)
    const { code } = await transform(await readFile(new URL(url), 'utf8'), { loader: 'ts' })
    return { format: 'module', shortCircuit: true, source: code }
  }
`
const program = `
  import { defineServer, defineTool } from ${JSON.stringify(inRoot('.t', 'index.js'))}
  import { connect } from ${JSON.stringify(inRoot('.t', 'testing.js'))}
  const module = new URL('./handler.mts', import.meta.url)
  const tools = (['thread', 'process'] as const).map((isolate) => defineTool({ name: isolate, isolate, module }))
  const pair = await connect(defineServer({ name: 'typed', version: '1', tools }))
  for (const { name } of tools) console.log(name, (await pair.client.callTool(name)).text)
  await pair.close()
  process.exit() // the loader has a process of its own
`
const common = {
  'hooks.mjs': hooks,
  'handler.mts': 'export default function handler(): string { return `typed` as string }',
  'program.mts': program,
}

test('TypeScript modules load if the program can load TypeScript', async (t) => {
  const loader = `
    import { register } from 'node:module'
    register('./hooks.mjs', import.meta.url)
  `
  const folder = makeProject(t, { ...common, 'loader.mjs': loader })
  const outcome = await runNode(['--import', './loader.mjs', 'program.mts'], folder, t.signal)
  assert.equal(outcome, { code: 0, output: 'thread typed\nprocess typed\n' })
})

/** Laid out as tsx is, and as silent in threads. */
const tsx = {
  'lib/tsx/dist/loader.mjs': `
    import { isMainThread } from 'node:worker_threads'
    import { register } from './esm/api/index.mjs'
    if (isMainThread) register()
  `,
  'lib/tsx/dist/esm/api/index.mjs': `
    import { register as hook } from 'node:module'
    export const register = () => hook('../../../../../hooks.mjs', import.meta.url)
  `,
}

test('TypeScript modules load in threads when the program runs under tsx', async (t) => {
  const folder = makeProject(t, { ...common, ...tsx })
  const loader = pathToFileURL(join(folder, 'lib/tsx/dist/loader.mjs')).href
  for (const args of [['--import=./lib/tsx/dist/loader.mjs'], ['--import', loader]]) {
    const outcome = await runNode([...args, 'program.mts'], folder, t.signal)
    assert.equal(outcome, { code: 0, output: 'thread typed\nprocess typed\n' }, args.join(' '))
  }
})

test.run()
