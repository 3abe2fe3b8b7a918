/** `node:worker_threads`; undefined on a platform that has no threads. */
export function threads(): typeof import('node:worker_threads') | undefined {
  return process.getBuiltinModule('node:worker_threads')
}

/** Whether this is the thread that the program began with. */
export function isMain(): boolean {
  return threads()?.isMainThread !== false
}
