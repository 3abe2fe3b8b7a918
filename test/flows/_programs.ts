import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { runs } from '../client/_servers.js'
import { inRoot } from '../support/root.js'
import type { TestContext } from '../support/suite.js'

/** The library, as programs import it. */
export const door = import.meta.resolve('caduceus')
const server = inRoot('test', 'flows', '_pid-server.mjs')

/** An expression: a new client of a server that is a child process. */
export const newClient = (options = ''): string =>
  `startClient({ transport: stdio({ command: process.execPath, args: [${JSON.stringify(server)}] }), logger: false, ${options} })`

/** A statement: says the id of that child process on standard output. */
export const tellChild = `console.log('child', (await client.callTool('pid')).text)`

/** A client of a server that is a child process, with its id said on standard output. */
export const client = (options = ''): string => `
  const { startClient, stdio } = await import(${JSON.stringify(door)})
  const client = ${newClient(options)}
  ${tellChild}
`

export const boom = `throw new Error('boom')`
export const later = (what: string): string => `setTimeout(() => { ${what} }, 1)\n`

/** What Node says of an error that nobody catches, and nothing else. */
export const stack = /^\n?Error: boom\n {4}at [\s\S]*\nNode\.js v/

/** How a program has ended, and what it said until then. */
export interface End {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A folder that is removed with the test. */
export function tempFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'program-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Writes files into a folder, by default one of their own, and gives their paths. */
export function writeFiles<Name extends string>(
  t: TestContext,
  texts: Readonly<Record<Name, string>>,
  folder = tempFolder(t),
): Readonly<Record<Name, string>> {
  const entries = Object.entries<string>(texts).map(([name, text]) => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return [name, path]
  })
  return Object.fromEntries(entries) as Record<Name, string>
}

/** Starts node; `hear` is told all of its standard output until then, with each piece, and may write to it. */
export async function runNode(
  t: TestContext,
  args: readonly string[],
  hear?: (stdout: string, input: NodeJS.WritableStream) => void,
): Promise<End> {
  const child = spawn(process.execPath, args, {
    stdio: [hear === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  const said = { stdout: '', stderr: '' }
  const { stdin, stdout, stderr } = child
  stdout?.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text
    if (stdin !== null) hear?.(said.stdout, stdin)
  })
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text
  })
  const [code] = (await once(child, 'close', { signal: t.signal })) as [number | null]
  return { code, ...said }
}

/** Waits until the children that a program has named have ended. */
export async function childrenGone(t: TestContext, { stdout }: End): Promise<void> {
  const children = [...stdout.matchAll(/\bchild (\d+)$/gm)].map(([, pid]) => Number(pid))
  while (children.some(runs)) await setTimeout(20, undefined, { signal: t.signal })
}
