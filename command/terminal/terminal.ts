import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { unsteered } from '../../runtime/base/steering.js'

/** Whether a person can be asked: standard input and standard error are a terminal. */
export function isTerminal(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

/** Asks one line on standard error. Resolves with undefined at the end of the input; rejects when aborted. */
export type Ask = (question: string, signal?: AbortSignal) => Promise<string | undefined>

/** Asks one line of the person at the terminal. */
export async function ask(question: string, signal?: AbortSignal): Promise<string | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const closed = new Promise<undefined>((resolve) => lines.once('close', () => resolve(undefined)))
    const answered = lines.question(unsteered(question), signal === undefined ? {} : { signal })
    return await Promise.race([answered, closed])
  } finally {
    lines.close()
  }
}

/** As `ask`, and shows nothing of the answer where `hidden`. Resolves with undefined without a terminal. */
export async function secretly(question: string, hidden: boolean): Promise<string | undefined> {
  if (!isTerminal()) return undefined
  if (!hidden) return await ask(question)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  try {
    // asked only now, with the terminal's own echo off: a fast typist's answer would be shown
    process.stderr.write(unsteered(question))
    return await lines.question('')
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}
