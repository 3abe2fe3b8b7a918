import { createFakeClock, type FakeClock } from 'caduceus/runtime'
import { http, type TransportError } from 'caduceus/transports'
import type { TestContext } from '../support/suite.js'
import { listen, polite, type Seen } from './_http.js'
import { greetings } from './_http-link.js'
import { type LinkTree, startLink } from './_link.js'

/** A session with a server that the test answers for, on a clock of its own. */
export type Scene = {
  readonly server: Awaited<ReturnType<typeof listen>>
  readonly link: LinkTree
  readonly clock: FakeClock
}

/** Begins a session whose POSTs and GETs the test answers. */
export async function begin(
  t: TestContext,
  onCall: (seen: Seen) => unknown,
  onGet: (seen: Seen, number: number) => unknown,
): Promise<Scene> {
  const clock = createFakeClock()
  let gets = 0
  const server = await listen(t, (seen) => {
    if (seen.method !== 'GET') return polite(onCall)(seen)
    gets += 1
    onGet(seen, gets)
  })
  const link = await startLink(t, http(server.url, { stream: false }), clock)
  link.open(1)
  await greetings({ server, link })
  return { server, link, clock }
}

/** One event of a stream. */
export function event(value: object, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(value)}\n\n`
}

/** Resolves with why the request was lost. */
export async function lost(link: LinkTree, id: number): Promise<TransportError> {
  const news = await link.news.next((one) => one.type === 'lost' && one.id === id)
  if (news.type !== 'lost') throw new Error('expected a loss')
  return news.error
}

/** Lets time pass, a second at a time, until something happens. */
export async function untilDone<T>(clock: FakeClock, wanted: Promise<T>): Promise<T> {
  let done = false
  const watched = wanted.finally(() => {
    done = true
  })
  while (!done) {
    await new Promise((resolve) => setImmediate(resolve))
    if (clock.pending > 0) await clock.advance(1_000)
  }
  return watched
}
