import { setMaxListeners } from 'node:events'
import type { ActorContext } from '../../runtime/process/context.js'
import type { Owned } from '../../runtime/process/owned.js'
import type { LinkScope } from '../contract/contract.js'

/**
 * What one connection may use, and its undo: once the connection is over, or its actor gone, nothing of it is
 * left.
 */
export interface HostedScope {
  readonly scope: LinkScope
  /**
   * Aborts the signal and releases what the connection owns, newest first; answers a promise when there is
   * something to wait for.
   */
  release(): Promise<void> | undefined
}

/**
 * A scope that lives as long as one connection: an actor that connects again for years must not collect the
 * abort listeners and disposers of every connection it ever had. `failed` hears of a disposer that throws.
 */
export function createLinkScope(ctx: ActorContext, failed: (error: unknown) => void): HostedScope {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal) // one for each answer whose rest is waited for
  const owned: Owned[] = []
  const scope: LinkScope = Object.freeze({
    signal: controller.signal,
    clock: ctx.clock,
    own<Resource extends Owned>(resource: Resource): Resource {
      owned.push(resource)
      return resource
    },
    bind: <Args extends unknown[], R>(fn: (...args: Args) => R) => ctx.bind(fn),
  })

  function release(): Promise<void> | undefined {
    controller.abort()
    const waiting: Promise<void>[] = []
    while (owned.length > 0) {
      const pending = dispose(owned.pop() as Owned)
      if (pending !== undefined) waiting.push(pending)
    }
    return waiting.length === 0 ? undefined : Promise.all(waiting).then(() => {})
  }

  function dispose(resource: Owned): Promise<void> | undefined {
    try {
      const result = disposeNow(resource)
      return result instanceof Promise ? result.catch(failed) : undefined
    } catch (error) {
      failed(error)
      return undefined
    }
  }

  return { scope, release }
}

function disposeNow(resource: Owned): void | PromiseLike<void> {
  if (typeof resource === 'function') return resource()
  if (Symbol.asyncDispose in resource) return resource[Symbol.asyncDispose]()
  return resource[Symbol.dispose]()
}
