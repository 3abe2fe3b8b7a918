import { errorCodes, McpError } from '../../protocol/errors.js'
import type { Params } from '../../protocol/methods.js'
import type { ReadResourceResult } from '../../protocol/types/resources.js'
import type { Found } from '../catalog.js'
import type { ToolContext } from '../context.js'
import { toReadResult } from '../results.js'
import { type Immediate, keep, noAnswerIn, type RouteScope, type Work } from '../work.js'

/** Answers `resources/list` with bytes that are made once (specification: resources). */
export function listResources(
  { cursor }: Params<'resources/list'>,
  { catalog, dialect }: RouteScope,
): Immediate {
  return catalog.resources.page(cursor, dialect)
}

/** Answers `resources/templates/list`, like `resources/list`. */
export function listTemplates(
  { cursor }: Params<'resources/templates/list'>,
  { catalog, dialect }: RouteScope,
): Immediate {
  return catalog.templates.page(cursor, dialect)
}

/** Plans `resources/read`. Throws McpError resourceNotFound. */
export function readResource({ uri }: Params<'resources/read'>, scope: RouteScope): Work {
  const found = find(uri, scope)
  const { timeout } = definitionOf(found)
  return {
    name: `resources/read ${uri.slice(0, 100)}`,
    timeout,
    run: (ctx) => read(uri, found, ctx),
    timedOut: (ms) => noAnswerIn(ms, 'reading the resource'),
  }
}

/** Plans `resources/subscribe`: from now on this session hears of changes. Throws McpError resourceNotFound. */
export function subscribe({ uri }: Params<'resources/subscribe'>, scope: RouteScope): Work {
  find(uri, scope)
  return keep('resources/subscribe', (wishes) => wishes.subscribe(uri))
}

/** Plans `resources/unsubscribe`; one that was never subscribed to is none now either. */
export function unsubscribe({ uri }: Params<'resources/unsubscribe'>): Work {
  return keep('resources/unsubscribe', (wishes) => wishes.unsubscribe(uri))
}

async function read(uri: string, found: Found, ctx: ToolContext): Promise<ReadResourceResult> {
  const returned =
    'resource' in found
      ? await found.resource.read(ctx)
      : await found.template.read(found.variables as never, ctx)
  const result = toReadResult({ uri, mimeType: definitionOf(found).mimeType }, returned)
  if (result === undefined) throw notFound(uri)
  return result
}

function find(uri: string, { catalog }: RouteScope): Found {
  const found = catalog.find(uri)
  if (found === undefined) throw notFound(uri)
  return found
}

function definitionOf(found: Found) {
  return 'resource' in found ? found.resource : found.template
}

function notFound(uri: string): McpError {
  return new McpError(errorCodes.resourceNotFound, 'Resource not found', { data: { uri } })
}
