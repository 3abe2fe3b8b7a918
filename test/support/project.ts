import { type StdioOptions, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { inRoot } from './root.js'
import type { TestContext } from './suite.js'

const aboutNpmRun =
  /^(?:npm_(?:package|lifecycle)_|npm_(?:command|execpath)$|npm_config_local_prefix$|INIT_CWD$)/
const suiteFiles = [
  'shared.ts',
  'orders.ts',
  'suite.ts',
  'report.ts',
  'strays.ts',
  'leaks.ts',
  'allowance.mjs',
  'allowance.d.mts',
]

/** What a program said and how it ended. */
export type Outcome = { readonly code: number | null; readonly output: string }

/**
 * Makes a folder below the temporary folder that looks like the repository as far as `files` (path to text) say; it has the
 * repository's node_modules and the test wrapper, and goes away with the test.
 */
export function makeProject(t: Pick<TestContext, 'after'>, files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'project-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(inRoot('node_modules'), join(folder, 'node_modules'))
  mkdirSync(join(folder, 'test', 'support'), { recursive: true })
  for (const name of suiteFiles) {
    copyFileSync(inRoot('test', 'support', name), join(folder, 'test', 'support', name))
  }
  for (const [path, text] of Object.entries({ 'package.json': '{ "type": "module" }\n', ...files })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

/**
 * Runs `node` with the given arguments and standard input to its end, or kills it when `signal` aborts; stdout and stderr arrive as
 * one text.
 */
export function runNode(
  args: readonly string[],
  cwd: string,
  signal: AbortSignal,
  input = '',
): Promise<Outcome> {
  return run(process.execPath, args, cwd, signal, input)
}

/** Like `runNode`, for any command. What npm tells its scripts about itself is not passed on. */
export function run(
  command: string,
  args: readonly string[],
  cwd: string,
  signal: AbortSignal,
  input = '',
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !aboutNpmRun.test(name)))
    const stdio: StdioOptions = [input === '' ? 'ignore' : 'pipe', 'pipe', 'pipe']
    const child = spawn(command, args, { cwd, env, signal, killSignal: 'SIGKILL', stdio })
    child.stdin?.end(input)
    const chunks: Buffer[] = []
    child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output: withoutNotices(Buffer.concat(chunks).toString()) }))
  })
}

/** What a program has printed, without what each server says of itself once in the log. */
function withoutNotices(output: string): string {
  return output.replace(/^\{.*"category":"server\.notice".*\n/gm, '')
}
