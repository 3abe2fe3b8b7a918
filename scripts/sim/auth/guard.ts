import { introspection, type HttpServeOptions } from '../../../index.js'
import type { Plan, ServerPlan } from '../plan/plan.js'
import { resourceServer } from './issuer.js'

/** The options by which the listener of a server lets in those with a token. */
export function guardOf({ issuers }: Plan, server: ServerPlan): Pick<HttpServeOptions, 'auth'> {
  const plan = issuers.find(({ name }) => name === server.issuer)
  if (plan === undefined) return {}
  const issuer = `http://${plan.address}:${plan.port}`
  const verify =
    plan.tokens === 'opaque'
      ? introspection({ issuer, endpoint: `${issuer}/introspect`, client: resourceServer })
      : undefined
  const auth = { resource: resourceOf(server), authorizationServers: [issuer], ...(verify && { verify }) }
  return { auth }
}

/** What tokens for a server are for. */
export function resourceOf({ address, port }: ServerPlan): string {
  return `http://${address}:${port}/mcp`
}
