// second tier: runtime
// time limit: 120 s
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { http, withClient } from 'caduceus'
import { build, stop } from 'esbuild'
import * as assert from 'uvu/assert'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('a server by fetch in other runtimes', { timeout: 60_000 })
const modules = inRoot('scripts', 'runtimes', 'node_modules')

/** How each runs a program; `npm run runtimes` installs them. */
const runtimes: Readonly<Record<string, readonly string[]>> = {
  Deno: [programIn(join(modules, '@deno'), 'deno'), 'run', '--allow-all', '--quiet'],
  Bun: [programIn(join(modules, '@oven'), 'bin', 'bun'), 'run'],
}

/** What npm starts is another program that starts it, or is put in its place by an install script. */
function programIn(folder: string, ...path: string[]): string {
  const [platform = ''] = existsSync(folder) ? readdirSync(folder) : []
  return join(folder, platform, ...path)
}

/** Where the program listens. */
async function start(t: TestContext, [command = '', ...args]: readonly string[]): Promise<string> {
  const program = join(mkdtempSync(join(tmpdir(), 'fetch-')), 'program.mjs')
  await build({
    entryPoints: [inRoot('test', 'server', '_fetch-program.ts')],
    bundle: true,
    format: 'esm',
    platform: 'node',
    outfile: program,
    logLevel: 'error',
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)",
    },
  })
  await stop()
  const child = spawn(command, [...args, program], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(async () => {
    const closed = once(child, 'close')
    child.kill()
    await closed
  })
  const [said] = (await once(child.stdout, 'data', { signal: t.signal })) as [Buffer]
  return `http://127.0.0.1:${said.toString().trim()}/mcp`
}

for (const [name, command] of Object.entries(runtimes)) {
  const promise = `${name} serves both eras: tools, progress, questions`
  if (!existsSync(command[0] ?? '')) test.skip(promise, `${name} is not installed: npm run runtimes`)
  else
    test(promise, async (t) => {
      const url = await start(t, command)
      const onElicit = () => ({ action: 'accept' as const, content: { amount: 3 } })
      for (const era of ['handshake', 'auto'] as const)
        await withClient({ transport: http(url), era, onElicit }, async (client) => {
          assert.is((await client.callTool('echo', { text: 'hello' })).text, 'hello')
          const heard: number[] = []
          const onProgress = ({ progress }: { readonly progress: number }) => void heard.push(progress)
          assert.is((await client.callTool('steps', {}, { onProgress })).text, 'done')
          assert.equal(heard, [1, 2, 3])
          assert.is((await client.callTool('order', { note: '' })).text, '3')
        })
    })
}

test.run()
