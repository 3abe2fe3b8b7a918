import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { UsageError } from '../base/usage-error.js'

/** Ms that Node may take to read a module. */
const timeout = 10_000

/** Throws UsageError for a module that is not there, or is no JavaScript: with the line, which no import tells. */
export function checkModule(path: string): void {
  if (!existsSync(path)) throw new UsageError(`${path} is not there`)
  const { stderr } = spawnSync(process.execPath, ['--check', path], { encoding: 'utf8', timeout })
  const problem = /^SyntaxError: .*/m.exec(stderr)?.[0]
  if (problem === undefined) return
  const line = /^.*:(\d+)$/m.exec(stderr)?.[1]
  throw new UsageError(`${path}${line === undefined ? '' : `, line ${line}`}: ${problem}`)
}
