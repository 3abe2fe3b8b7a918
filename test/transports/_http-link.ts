import { buildRequest } from 'caduceus/protocol'
import type { Clock } from 'caduceus/runtime'
import { http, type HttpOptions } from 'caduceus/transports'
import type { TestContext } from '../support/suite.js'
import { initialized, listen, type RawHttp, type Seen } from './_http.js'
import { type LinkTree, startLink } from './_link.js'

/** Starts a server and a transport, and opens a connection. */
export async function connect(
  t: TestContext,
  handle: (seen: Seen) => unknown,
  options: HttpOptions = {},
  clock?: Clock,
) {
  const server = await listen(t, handle)
  const link = await startLink(t, http(server.url, options), clock)
  link.open(1)
  await link.news.next(({ type }) => type === 'opened')
  return { server, link }
}

/** Does what a client does first; afterwards the session is in use. */
export async function greetings({ server, link }: { server: RawHttp; link: LinkTree }): Promise<void> {
  link.send(1, buildRequest(0, 'initialize', {}))
  await link.message()
  link.negotiated(1, '2025-11-25')
  link.send(1, initialized)
  await server.seen.next(({ message }) => message.method === initialized.method)
}
