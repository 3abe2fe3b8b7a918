import type { Clock } from '../../runtime/time/clock.js'
import type { Holdings } from '../holdings/holdings.js'

/** Milliseconds without a message after which a client counts as forgotten. */
const idleFor = 10_000
const lookEvery = 2_000
const advice =
  'nothing but this client seems to keep the program alive: close it (await client.close()), or use withClient'

/** Handles of the event loop that one client has at most, by its kind. */
const ofProcess: Readonly<Record<string, number>> = { ProcessWrap: 1, PipeWrap: 3, Timeout: 1 }
const ofNetwork: Readonly<Record<string, number>> = { TCPSocketWrap: 2, TLSWrap: 2, Timeout: 2 }
/** The terminal that a program writes to; one that reads has three. */
const terminals = 2

/**
 * Says once, to a person at a terminal, that the program would end if this client were closed: it has been
 * idle, nobody listens to it, and nothing else seems to hold the event loop.
 */
export function watchForgotten(
  holdings: Holdings,
  clock: Clock,
  resources: () => readonly string[] = process.getActiveResourcesInfo,
): void {
  if (process.stderr.isTTY !== true) return
  let seen = 0
  let since = clock.now()
  let timer: unknown
  const look = (): void => {
    const { sent, received } = holdings.gauge
    if (sent + received !== seen || !isAtRest(holdings)) since = clock.now()
    seen = sent + received
    if (clock.now() - since < idleFor || !seemsAlone(resources())) return wait()
    holdings.reports.warn('forgotten', advice)
  }
  const wait = (): void => {
    timer = clock.setTimeout(look, lookEvery)
    ;(timer as Partial<NodeJS.Timeout> | undefined)?.unref?.()
  }
  wait()
  const end = (): void => clock.clearTimeout(timer)
  void holdings.closed.then(end, end)
}

function isAtRest(holdings: Holdings): boolean {
  const { waiting, inFlight } = holdings.load()
  return waiting + inFlight === 0 && !holdings.isListenedTo
}

/** Whether one client explains all that holds the event loop. */
export function seemsAlone(resources: readonly string[]): boolean {
  const counts = new Map<string, number>()
  for (const kind of resources) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  const own = counts.has('ProcessWrap') ? ofProcess : ofNetwork
  return [...counts].every(([kind, count]) => {
    if (kind === 'TTYWrap') return count <= terminals
    return Object.hasOwn(own, kind) && count <= Number(own[kind])
  })
}
