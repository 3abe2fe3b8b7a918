import { lazy } from '../../../runtime/faults/load.js'
import type { ClientTransport } from '../../contract/contract.js'
import { AnswerBudget } from './answer-budget.js'
import type { ServerHabits } from './link.js'
import { type HttpOptions, readHttpOptions } from './options.js'

const load = /* @__PURE__ */ lazy('../../transports/http/client/fallback.js', () => import('./fallback.js'))

/**
 * A server behind Streamable HTTP (specification: transports): one POST for each message, and one GET stream
 * for what belongs to no request. The session is kept until the server ends it. Throws BAD_OPTION, naming the
 * field. Nothing is connected before the first message, and undici is loaded only then.
 */
export function http(url: string | URL, options: HttpOptions = {}): ClientTransport {
  const settings = readHttpOptions(url, options)
  const habits: ServerHabits = { isSilent: false, budget: new AnswerBudget(settings.limits) }
  return Object.freeze({
    name: `http ${settings.url.host}${settings.url.pathname}`,
    modern: 'http',
    async connect(events, scope) {
      const { connectHttp } = await load()
      scope.signal.throwIfAborted()
      return connectHttp(settings, events, scope, habits)
    },
  } satisfies ClientTransport)
}
