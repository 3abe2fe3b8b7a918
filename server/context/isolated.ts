import type { RequestScope } from './context.js'

/** A handler that runs in a thread or process of its own. */
export interface IsolatedHandler {
  readonly kind: 'thread' | 'process'
  /** The URL of the module whose default export is the handler. */
  readonly module: string
}

/** Where the isolated handlers of a server run. */
export interface Isolation {
  /** Runs a handler with its arguments; the worker makes `ctx`. Rejects with what it throws. */
  run(handler: IsolatedHandler, args: readonly unknown[], scope: RequestScope): Promise<unknown>
}
