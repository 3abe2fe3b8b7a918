import { badOption } from '../base/check.js'
import { isPromise } from '../base/promise.js'
import { type OwnerToken, runIn } from '../faults/containment.js'

/** What a process can own: a disposable, or a function that releases it. */
export type Owned = Disposable | AsyncDisposable | (() => void | Promise<void>)

export type Release = () => void | Promise<void>

/** Throws BAD_OPTION. */
export function releaseOf(owned: Owned): Release {
  if (typeof owned === 'function') return owned
  if (typeof owned === 'object' && owned !== null) {
    if (Symbol.asyncDispose in owned) return async () => owned[Symbol.asyncDispose]()
    if (Symbol.dispose in owned) return () => owned[Symbol.dispose]()
  }
  throw badOption('own', 'a function or something disposable', owned)
}

/** Releases all, newest first; never rejects. Null when there is nothing to wait for. */
export function releaseAll(
  owned: Release[],
  token: OwnerToken,
  failed: (error: unknown) => void,
): Promise<void> | null {
  while (owned.length > 0) {
    const pending = releaseLast(owned, token, failed)
    if (pending !== undefined) return releaseRest(pending, owned, token, failed)
  }
  return null
}

async function releaseRest(
  pending: Promise<void>,
  owned: Release[],
  token: OwnerToken,
  failed: (error: unknown) => void,
): Promise<void> {
  await pending
  while (owned.length > 0) await releaseLast(owned, token, failed)
}

function releaseLast(
  owned: Release[],
  token: OwnerToken,
  failed: (error: unknown) => void,
): Promise<void> | undefined {
  try {
    const result = runIn(token, run, owned.pop() as Release, null)
    return isPromise(result) ? Promise.resolve(result).then(() => {}, failed) : undefined
  } catch (error) {
    failed(error)
    return undefined
  }
}

function run(release: Release): void | Promise<void> {
  return release()
}
