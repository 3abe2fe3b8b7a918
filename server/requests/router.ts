import { hasCapability, missingCapability } from '../../protocol/dialects/capabilities.js'
import { acceptsRequest, type Dialect } from '../../protocol/dialects/dialect.js'
import { errorCodes, McpError, unknownMethod } from '../../protocol/wire/errors.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import {
  isMethod,
  type Method,
  type Params,
  type RequestTo,
  type Result,
} from '../../protocol/messages/methods.js'
import { readParams } from '../../protocol/messages/params.js'
import { isPromise } from '../../runtime/base/promise.js'
import { complete } from './handlers/completion.js'
import { getPrompt } from './handlers/prompts.js'
import { readResource, subscribe } from './handlers/resources.js'
import { getSkill, listSkills, readDirectory } from './handlers/skills.js'
import { callTool } from './handlers/tools.js'
import { checkAllowed } from '../context/scopes.js'
import { isOwnable, planMethod, planOwned } from './low-level.js'
import type { MethodDefinition } from '../definitions/define-method.js'
import { checkUsable } from '../definitions/session-needs.js'
import { gatewaysIn, withGateways } from '../catalog/gateways.js'
import type { Component } from '../catalog/catalog.js'
import type { Immediate } from '../catalog/immediate.js'
import { keep, noAnswerIn, type RouteScope, type Work } from './work.js'

const pong: Immediate = Object.freeze({ result: Object.freeze({}), text: '{}' })

/** The methods that are answered here: `initialize` begins a session, `subscriptions/listen` is a stream. */
type Served = Exclude<RequestTo<'server'>, 'initialize' | 'subscriptions/listen'>

const handlers: { readonly [M in Served]: (params: Params<M>, scope: RouteScope) => Immediate | Work } = {
  'server/discover': (_params, { catalog, dialect, peer }) => catalog.discover(dialect, peer),
  ping: () => pong,
  'tools/list': ({ cursor }, scope) => scope.catalog.tools.page(cursor, scope),
  'tools/call': callTool,
  'resources/list': ({ cursor }, scope) => scope.catalog.resources.page(cursor, scope),
  'resources/templates/list': ({ cursor }, scope) => scope.catalog.templates.page(cursor, scope),
  'resources/read': readResource,
  'resources/subscribe': subscribe,
  'resources/unsubscribe': ({ uri }) =>
    keep('resources/unsubscribe', (wishes) => void wishes.unsubscribe(uri)),
  'prompts/list': ({ cursor }, scope) => scope.catalog.prompts.page(cursor, scope),
  'prompts/get': getPrompt,
  'completion/complete': complete,
  'skills/list': listSkills,
  'skills/get': getSkill,
  'resources/directory/read': readDirectory,
  'logging/setLevel': ({ level }) => keep('logging/setLevel', (wishes) => void wishes.setLogLevel(level)),
}

type ListPlan = readonly [kind: Component['kind'], field: string, key: string]

/** What is whole only once all servers behind this one are known: where its entries stand, and what names one. */
const lists: ReadonlyMap<string, ListPlan> = new Map<string, ListPlan>([
  ['tools/list', ['tool', 'tools', 'name']],
  ['resources/list', ['resource', 'resources', 'uri']],
  ['resources/templates/list', ['resourceTemplate', 'resourceTemplates', 'uriTemplate']],
  ['prompts/list', ['prompt', 'prompts', 'name']],
])

/** Throws McpError: -32601 for an unknown method, -32602 for bad params, -32600 for a second `initialize`. */
export function route(request: JsonRpcRequest, scope: RouteScope): Immediate | Work {
  const { method } = request
  const list = lists.get(method)
  if (list !== undefined) {
    const { gateway } = scope.catalog
    if (gateway !== undefined && gatewaysIn(request.params).length > 0)
      return forGateway(request, scope, gateway, list)
    const known = scope.catalog.wake()
    if (known !== undefined) return routeOnce(known, request, scope)
  }
  try {
    return routeNow(request, scope)
  } catch (error) {
    // what is unknown may be what a server has of which nothing is known yet
    const known = error instanceof McpError && isOwnable(method) ? scope.catalog.wake() : undefined
    if (known === undefined) throw error
    return routeOnce(known, request, scope)
  }
}

/** A list for a gateway, which sees there what is its own: each entry says the way that it came. */
function forGateway(
  request: JsonRpcRequest,
  scope: RouteScope,
  gateway: string,
  [kind, field, key]: ListPlan,
): Work {
  const { catalog } = scope
  if (gatewaysIn(request.params).includes(gateway))
    throw McpError.invalidRequest('this gateway is among its own servers')
  const work = routeOnce(catalog.wake() ?? Promise.resolve(), request, scope)
  return {
    ...work,
    async run(ctx) {
      const result = (await work.run(ctx)) as JsonObject
      const entries: JsonObject[] = Array.isArray(result[field]) ? result[field] : []
      const told = entries.map((entry) =>
        withGateways(entry, [gateway, ...catalog.throughOf(kind, String(entry[key]))]),
      )
      return { ...result, [field]: told }
    },
  }
}

function routeOnce(known: Promise<void>, request: JsonRpcRequest, scope: RouteScope): Work {
  const { method } = request
  return {
    name: method.slice(0, 100),
    timeout: undefined,
    async run(ctx) {
      await known
      const planned = routeNow(request, scope)
      return 'text' in planned ? planned.result : planned.run(ctx)
    },
    timedOut: (ms) => noAnswerIn(ms, `answering ${method.slice(0, 100)}`),
  }
}

function routeNow(request: JsonRpcRequest, scope: RouteScope): Immediate | Work {
  const { handleRequest, methods } = scope.catalog.lowLevel
  const { method } = request
  const asTask = methods.has(method) ? undefined : scope.tasks?.plan(request, scope)
  if (asTask !== undefined) return asTask
  const planned =
    handleRequest === undefined || !isOwnable(method)
      ? plan(request, scope)
      : planOwned(request, handleRequest, () => plan(request, scope))
  // a prepared answer was made for this revision
  return 'text' in planned || !isFitted(scope.dialect, method)
    ? planned
    : fitted(planned, method as Method, scope)
}

function plan({ method, params }: JsonRpcRequest, scope: RouteScope): Immediate | Work {
  const own = scope.catalog.lowLevel.methods.get(method)
  if (own !== undefined) {
    checkAllowed(scope.peer, own)
    checkUsable(scope.dialect, own, `method ${method}`)
    checkDeclared(method, own, scope)
    return planMethod(method, own, params)
  }
  if (!acceptsRequest(scope.dialect, 'server', method)) throw unknownMethod(method)
  if (method === 'initialize') throw McpError.invalidRequest('this session is initialized already')
  const missing = missingCapability(method, scope.catalog.capabilities, scope.dialect)
  if (missing !== undefined) throw unknownMethod(method)
  const handle = handlers[method as Served] as (params: unknown, scope: RouteScope) => Immediate | Work
  return handle(readParams(method, params), scope)
}

/**
 * Throws McpError unless the client has declared the extension of a method: -32021 (2026-07-28, basic), and
 * -32601 where the revision does not have that code.
 */
function checkDeclared(method: string, { extension }: MethodDefinition, scope: RouteScope): void {
  const { capabilities, dialect } = scope
  if (extension === undefined || hasCapability(capabilities, `extensions.${extension}`)) return
  const problem = `${method} belongs to the extension ${extension}, which the client has not declared`
  const code = dialect.handshake ? errorCodes.methodNotFound : errorCodes.missingClientCapability
  const requiredCapabilities = { extensions: { [extension]: {} } }
  throw new McpError(code, problem, { data: { requiredCapabilities } })
}

function isFitted({ handshake, lacks }: Dialect, method: string): boolean {
  if (!handshake) return true
  return lacks !== undefined && isMethod(method) && lacks.results?.includes(method) !== false
}

function fitted<M extends Method>(work: Work, method: M, { dialect, catalog }: RouteScope): Work {
  const fit = (result: unknown) => catalog.finish(dialect, method, result as Result<M>, work.cache)
  const { name, timeout, cache, change, crashed } = work
  return {
    name,
    timeout,
    cache,
    ...(change !== undefined && { change }),
    timedOut(ms) {
      const outcome = work.timedOut(ms)
      return outcome instanceof McpError ? outcome : fit(outcome)
    },
    ...(crashed !== undefined && {
      crashed(told) {
        const outcome = crashed(told)
        return outcome === undefined ? undefined : fit(outcome)
      },
    }),
    run(ctx) {
      const result = work.run(ctx)
      return isPromise(result) ? Promise.resolve(result).then(fit) : fit(result)
    },
  }
}
