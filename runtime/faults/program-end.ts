import { inspect } from 'node:util'
import { systemClock } from '../time/clock.js'

/** A tree that can be stopped in an orderly way; the promise resolves when it has ended. */
export interface EndingTree {
  end(error: unknown): Promise<void>
}

/** How long the trees of a program that ends may take, in ms. */
const patience = 5_000

/**
 * Ends the program as Node does for an error that nobody catches, with the error on standard error and exit
 * code 1, after its trees were stopped in order. In a worker the thread ends, and whoever started it is told
 * the error. `release` takes our own listeners back.
 */
export function endProgram(error: unknown, trees: readonly EndingTree[], release: () => void): void {
  const { isMainThread } = process.getBuiltinModule('node:worker_threads')
  if (isMainThread) print(error)
  process.exitCode = 1
  const late = systemClock.setTimeout(leave, patience)
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

/** As Node does. */
export function print(error: unknown): void {
  const shown = error instanceof Error ? inspect(error) : `Uncaught:\n${inspect(error)}`
  try {
    process.getBuiltinModule('node:fs').writeSync(2, `\n${shown}\n\nNode.js ${process.version}\n`)
  } catch {
    // whoever closed our standard error does not want to read there
  }
}

/**
 * The listeners of the host for what nobody caught. That of `node:domain` is none: it stands there in every
 * program that has loaded that module.
 */
export function hostListeners(
  event: 'uncaughtException' | 'unhandledRejection',
  ours: unknown,
): readonly ((...args: unknown[]) => unknown)[] {
  // as they were registered: one that is called once takes itself off
  const all = process.rawListeners(event) as unknown as readonly ((...args: unknown[]) => unknown)[]
  return all.filter((listener) => listener !== ours && listener.name !== 'domainUncaughtExceptionClear')
}

/**
 * Code of a prompt that the host has made with `node:repl`, which runs in a domain, may not add a listener
 * for throws.
 */
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

/**
 * Shows an error as the prompt of `node` does, which leaves it to whoever listens; false where the program is
 * not at that prompt.
 */
export function showInRepl(error: unknown, kind: 'rejection' | 'throw'): boolean {
  // a program of a file is no prompt, and has not loaded the module for it
  if (process.argv[1] !== undefined) return false
  const { repl } = process.getBuiltinModule('node:repl') as { readonly repl?: Repl }
  if (repl === undefined) return false
  const shown = repl.writer(error).replace(/^\[(.*)\]$/, '$1') // an error of a line has no stack
  repl.output.write(`Uncaught ${shown}\n`)
  if (kind === 'rejection') repl.displayPrompt() // after a throw it comes by itself
  return true
}
