import { defineServer, type ServerDefinition } from './define-server.js'
import { type GatewayOptions, readGateway, type UpstreamSource } from './gateway-options.js'

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
  return Object.freeze({ ...definition, gateway: plan })
}
