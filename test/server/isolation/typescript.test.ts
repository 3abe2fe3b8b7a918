import * as assert from 'uvu/assert'
import { makeProject, runNode } from '../../support/project.js'
import { inRoot } from '../../support/root.js'
import { suite } from '../../support/suite.js'

const test = suite('isolated handlers in TypeScript', { timeout: 30_000 })

test('they load where the own loader of the program does', async (t) => {
  const folder = makeProject(t, {
    'loader.mjs': `
      import { register } from 'node:module'
      register('./hooks.mjs', import.meta.url)
    `,
    'hooks.mjs': `
      import { readFile } from 'node:fs/promises'
      import { transform } from 'esbuild'
      export async function load(url, context, next) {
        if (!url.endsWith('.ts')) return next(url, context)
        const { code } = await transform(await readFile(new URL(url), 'utf8'), { loader: 'ts' })
        return { format: 'module', shortCircuit: true, source: code }
      }
    `,
    'handler.ts': 'export default function handler(): string { return `typed` as string }',
    'program.ts': `
      import { defineServer, defineTool } from ${JSON.stringify(inRoot('.t', 'index.js'))}
      import { connect } from ${JSON.stringify(inRoot('.t', 'testing.js'))}
      const module = new URL('./handler.ts', import.meta.url)
      const tools = (['thread', 'process'] as const).map((isolate) => defineTool({ name: isolate, isolate, module }))
      const pair = await connect(defineServer({ name: 'typed', version: '1', tools }))
      for (const { name } of tools) console.log(name, (await pair.client.callTool(name)).text)
      await pair.close()
      process.exit() // the loader has a process of its own
    `,
  })
  const outcome = await runNode(['--import', './loader.mjs', 'program.ts'], folder, t.signal)
  assert.equal(outcome, { code: 0, output: 'thread typed\nprocess typed\n' })
})

test.run()
