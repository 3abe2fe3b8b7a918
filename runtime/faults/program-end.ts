import { inspect } from 'node:util'
import { isMain } from '../base/threads.js'
import { systemClock } from '../time/clock.js'
import { standardError } from './standard-error.js'

export interface EndingTree {
  end(error: unknown): Promise<void>
}

/** Milliseconds that the trees may take to stop. */
const stopTimeout = 5_000

/**
 * Ends the program as Node does for an uncaught error: stack on standard error, exit code 1. Its trees stop
 * first. A worker ends with the error, which its parent hears. `release` removes our listeners.
 */
export function endProgram(error: unknown, trees: readonly EndingTree[], release: () => void): void {
  const isMainThread = isMain()
  if (isMainThread) print(error)
  process.exitCode = 1
  const late = systemClock.setTimeout(leave, stopTimeout)
  void Promise.allSettled(trees.map((tree) => tree.end(error))).then(leave)

  function leave(): void {
    systemClock.clearTimeout(late)
    if (isMainThread) process.exit(1)
    release()
    setImmediate(() => {
      throw error
    })
  }
}

export function print(error: unknown): void {
  const shown = error instanceof Error ? inspect(error) : `Uncaught:\n${inspect(error)}`
  standardError.write(`\n${shown}\n\nNode.js ${process.version}\n`)
}

/** The host's own listeners; that of `node:domain` does not count, since loading the module adds it. */
export function hostListeners(
  event: 'uncaughtException' | 'unhandledRejection',
  ours: unknown,
): readonly ((...args: unknown[]) => unknown)[] {
  // raw: a `once` listener removes itself when called
  const all = process.rawListeners(event) as unknown as readonly ((...args: unknown[]) => unknown)[]
  return all.filter((listener) => listener !== ours && listener.name !== 'domainUncaughtExceptionClear')
}

/** Code at a `node:repl` prompt runs in a domain, where a listener for throws may not be added. */
export function outsideDomain(fn: () => void): void {
  const { domain } = process as { domain?: unknown }
  if (domain === undefined || domain === null) return fn()
  Object.assign(process, { domain: undefined })
  try {
    fn()
  } finally {
    Object.assign(process, { domain })
  }
}

interface Repl {
  readonly output: NodeJS.WritableStream
  writer(value: unknown): string
  displayPrompt(): void
}

/** Shows an error as the prompt of `node` does; false where the program is not at that prompt. */
export function showInRepl(error: unknown, kind: 'rejection' | 'throw'): boolean {
  // a program from a file is no prompt
  if (process.argv[1] !== undefined) return false
  const { repl } = process.getBuiltinModule('node:repl') as { readonly repl?: Repl }
  if (repl === undefined) return false
  const shown = repl.writer(error).replace(/^\[(.*)\]$/, '$1') // an error of a line has no stack
  repl.output.write(`Uncaught ${shown}\n`)
  if (kind === 'rejection') repl.displayPrompt() // after a throw it comes by itself
  return true
}
