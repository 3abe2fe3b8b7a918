import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { inRoot, root } from '../../support/root.js'
import type { TestContext } from '../../support/suite.js'

/** The program of the simulation, as a process. */
export async function runSim(t: TestContext, ...args: string[]) {
  const child = spawn(process.execPath, [inRoot('scripts', 'sim.mjs'), ...args], {
    cwd: root,
    signal: t.signal,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.on('error', () => {}) // what the signal of the test does
  const said: Record<'stdout' | 'stderr', string> = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
    })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...said }
}

export interface SimReport {
  readonly seeds: number
  readonly operations: number
  readonly violations: Readonly<Record<string, number>>
  readonly failed: readonly number[]
  readonly hash: string
}

export function reportOf(stdout: string): SimReport {
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as SimReport
}
