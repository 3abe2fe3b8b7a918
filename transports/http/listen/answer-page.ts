import type { IncomingMessage, ServerResponse } from 'node:http'
import { pathOf } from '../../base/target.js'
import type { ServerPages } from '../../contract/pages.js'
import type { ListenSettings } from './options.js'
import { addressBehind } from './peer.js'

/** Answers a page of the server. False for other paths. */
export function answerPage(
  pages: ServerPages | undefined,
  request: IncomingMessage,
  response: ServerResponse,
  { auth, trustProxy }: Pick<ListenSettings, 'auth' | 'trustProxy'>,
): boolean {
  if (pages?.has(pathOf(request.url)) !== true) return false
  const address = addressBehind(request, trustProxy)
  const { shows, isSignedIn } = auth?.own ?? {}
  pages.take(request, response, { address, shows, isSignedIn })
  return true
}
