/** The one listener of this process for all children: Node warns of more than ten. */
interface ExitHook {
  (): void
  readonly [ends]: Set<() => void>
}

const ends = Symbol.for('caduceus.endsAtExit')

/**
 * Calls `end` when this process ends by `process.exit()` or an uncaught error, not by a signal. Nothing may
 * wait. The returned function takes it back.
 */
export function atExit(end: () => void): () => void {
  const hook = process.listeners('exit').find(isHook) ?? install()
  hook[ends].add(end)
  return () => {
    hook[ends].delete(end)
    if (hook[ends].size === 0) process.off('exit', hook)
  }
}

function install(): ExitHook {
  const all = new Set<() => void>()
  const hook: ExitHook = Object.assign(
    () => {
      for (const end of all) end()
    },
    { [ends]: all },
  )
  process.on('exit', hook)
  return hook
}

function isHook(listener: object): listener is ExitHook {
  return ends in listener
}
