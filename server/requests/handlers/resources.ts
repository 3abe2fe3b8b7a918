import { McpError } from '../../../protocol/wire/errors.js'
import type { Params } from '../../../protocol/messages/methods.js'
import type { ReadResourceResult } from '../../../protocol/messages/resources.js'
import { show } from '../../../runtime/base/errors.js'
import { checkAllowed } from '../../context/scopes.js'
import { componentIn, maxUriLength, type ResourceMatch } from '../../catalog/catalog.js'
import type { ToolContext } from '../../context/context.js'
import { isOutsideRoots } from '../../base/errors.js'
import { toReadResult } from '../../results/results.js'
import { checkUsable } from '../../definitions/session-needs.js'
import { keep, noAnswerFrom, noAnswerIn, type RouteScope, type Work } from '../work.js'

/** Plans `resources/read`. Throws McpError -32002 for an unknown resource, and 403 for a missing scope. */
export function readResource(params: Params<'resources/read'>, scope: RouteScope): Work {
  const { uri } = params
  const found = find(uri, scope)
  const { timeout, cache, scopes, permits, relayed } = componentIn(found)
  return {
    name: `resources/read ${uri.slice(0, 100)}`,
    timeout,
    cache: scopes === undefined && permits === undefined ? cache : scope.catalog.privately(cache),
    run: (ctx) => (relayed === undefined ? read(uri, found, ctx) : relayed.run(params, ctx)),
    timedOut: (ms) =>
      relayed === undefined ? noAnswerIn(ms, 'reading the resource') : noAnswerFrom(relayed, ms),
  }
}

/** Plans `resources/subscribe`. Throws McpError like `resources/read`. */
export function subscribe({ uri }: Params<'resources/subscribe'>, scope: RouteScope): Work {
  find(uri, scope)
  const want = () => scope.catalog.want(uri, scope.peer, scope.session)
  return keep('resources/subscribe', (wishes) => wishes.subscribe(uri, want))
}

async function read(uri: string, found: ResourceMatch, ctx: ToolContext): Promise<ReadResourceResult> {
  const result = toReadResult(
    { uri, mimeType: componentIn(found).mimeType },
    await readFound(uri, found, ctx),
  )
  if (result === undefined) throw notFound(uri)
  return result
}

/** For a client, what lies outside the roots does not exist. */
async function readFound(uri: string, found: ResourceMatch, ctx: ToolContext): Promise<unknown> {
  try {
    return 'resource' in found
      ? await found.resource.read(ctx)
      : await found.template.read(found.variables as never, ctx)
  } catch (error) {
    throw isOutsideRoots(error) ? notFound(uri) : error
  }
}

function find(uri: string, { catalog, peer, dialect }: RouteScope): ResourceMatch {
  const found = catalog.find(uri)
  if (found === undefined && uri.length > maxUriLength)
    throw McpError.invalidParams(`params.uri: expected ${maxUriLength} characters at most, got ${uri.length}`)
  if (found === undefined) throw notFound(uri)
  checkAllowed(peer, componentIn(found), () => notFound(uri))
  checkUsable(dialect, componentIn(found), `resource ${show(uri)}`)
  return found
}

function notFound(uri: string): McpError {
  return McpError.notFound('Resource not found', { uri })
}
