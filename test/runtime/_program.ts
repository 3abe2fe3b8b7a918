import { spawn } from 'node:child_process'
import { inRoot } from '../support/root.js'
import type { TestContext } from '../support/suite.js'

/** How a program in a process of its own came out. */
export interface ProgramEnd {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The address programs import the runtime from. */
export const runtimeUrl = import.meta.resolve('caduceus/runtime')

/** Runs the text of a module in a process of its own to its end, or until it is killed for what it wrote. */
export function runProgram(
  t: TestContext,
  text: string,
  flags: readonly string[] = [],
  until?: RegExp,
): Promise<ProgramEnd> {
  return new Promise((resolve, reject) => {
    const args = [...flags, '--input-type=module', '--eval', text]
    const child = spawn(process.execPath, args, { cwd: inRoot(), signal: t.signal, killSignal: 'SIGKILL' })
    const said = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        said[name] += text
        if (until?.test(said[name])) child.kill('SIGKILL')
      })
    }
    child.stdin.end()
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...said }))
  })
}
