import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestContext } from '../support/suite.js'

/** The program, and a server for it that speaks over standard input. */
export const program = fileURLToPath(import.meta.resolve('caduceus/command'))
export const serverFile = fileURLToPath(new URL('./_server.js', import.meta.url))
export const overStdio = ['--', process.execPath, serverFile, '--stdio']

/** How the program ended, and what it said. */
export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** A home of its own, without the files of any host; it goes away with the test. */
export function newHome(t: Pick<TestContext, 'after'>): string {
  const home = mkdtempSync(join(tmpdir(), 'home-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  return home
}

/** Variables that make `home` the home of the user. */
export function environmentOf(home: string): NodeJS.ProcessEnv {
  const { PATH, TERM, NODE_OPTIONS } = process.env
  return { PATH, TERM, NODE_OPTIONS, HOME: home, USERPROFILE: home, XDG_RUNTIME_DIR: home }
}

/** Runs the program to its end, in the folder `home`. */
export function caduceus(
  t: TestContext,
  args: readonly string[],
  { home = newHome(t), input = '' }: { readonly home?: string; readonly input?: string } = {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], {
      cwd: home,
      env: environmentOf(home),
      signal: t.signal,
      killSignal: 'SIGKILL',
    })
    child.stdin.end(input)
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk
    })
    child.stderr.on('data', (chunk: Buffer) => {
      err += chunk
    })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out, err }))
  })
}
