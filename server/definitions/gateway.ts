import { lazy } from '../../runtime/faults/load.js'
import { defineServer, type ServerDefinition } from './define-server.js'
import {
  type GatewayModules,
  type GatewayOptions,
  readGateway,
  type UpstreamSource,
} from './gateway-options.js'

/** Here, so that a bundle without this function has them not. */
const modules: GatewayModules = {
  logins: /* @__PURE__ */ lazy(
    '../../transports/authorization/upstream-logins.js',
    () => import('../../transports/authorization/upstream-logins.js'),
  ),
  exchange: /* @__PURE__ */ lazy(
    '../../transports/auth/token-exchange.js',
    () => import('../../transports/auth/token-exchange.js'),
  ),
}

/**
 * Defines a server that offers what other servers have: their tools and prompts as `files__read`, their
 * resources under their own uris, in every revision, whatever theirs is. Arguments and results pass
 * unchanged, and so do progress, logs, cancellations, list changes and questions. A server that restarts
 * costs the calls in flight in it; its tools stay listed. The caller's credentials are not passed on. Throws
 * BAD_DEFINITION, naming the field, and BAD_OPTION for options of a server that `clients` does not have.
 */
export function gateway(clients: UpstreamSource, options: GatewayOptions = {}): ServerDefinition {
  const plan = readGateway(clients, options)
  const { name = 'gateway', version = '1.0.0', title, instructions } = options
  const definition = defineServer({
    name,
    version,
    tools: [],
    resources: [],
    prompts: [],
    logging: true,
    ...(title !== undefined && { title }),
    ...(instructions !== undefined && { instructions }),
  })
  return Object.freeze({ ...definition, gateway: Object.freeze({ ...plan, modules }) })
}
