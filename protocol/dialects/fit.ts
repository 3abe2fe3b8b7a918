import type { Dialect } from './dialect.js'
import { errorCodes, type JsonRpcError } from '../wire/errors.js'
import { fitInitializeParams, fitInitializeResult, fitServer } from './fit-capabilities.js'
import { fitHints, fitPromptResult, fitReadResult, fitToolResult } from './fit-content.js'
import { changeField, leaveOut, mapKept } from './fit-fields.js'
import { fitElicitation, fitSampling, fitSamplingResult } from './fit-questions.js'
import type { Lacks } from './lacks.js'
import type { Method, NotificationMethod, NotificationParams, Params, Result } from '../messages/methods.js'
import type { CompleteParams } from '../messages/completion.js'
import type { Prompt } from '../messages/prompts.js'
import type { Tool } from '../messages/tools.js'

type ResultFits = { readonly [M in Method]?: (lacks: Lacks, result: Result<M>) => Result<M> }
type ParamsFits = { readonly [M in Method]?: (lacks: Lacks, params: Params<M>) => Params<M> }
type NotificationFits = {
  readonly [N in NotificationMethod]?: (lacks: Lacks, params: NotificationParams<N>) => NotificationParams<N>
}

const resultFits: ResultFits = Object.freeze({
  initialize: fitInitializeResult,
  'server/discover': (lacks, result) =>
    changeField(result, 'capabilities', (capabilities) => fitServer(lacks, capabilities)),
  'tools/list': (lacks, result) =>
    changeField(result, 'tools', (tools) => mapKept(tools, (tool) => fitTool(lacks, tool))),
  'tools/call': fitToolResult,
  'resources/list': (lacks, result) =>
    changeField(result, 'resources', (list) => fitListed(lacks, list, lacks.fields.resource)),
  'resources/templates/list': (lacks, result) =>
    changeField(result, 'resourceTemplates', (list) => fitListed(lacks, list, lacks.fields.resourceTemplate)),
  'resources/read': fitReadResult,
  'prompts/list': (lacks, result) =>
    changeField(result, 'prompts', (prompts) => mapKept(prompts, (prompt) => fitPrompt(lacks, prompt))),
  'prompts/get': fitPromptResult,
  'sampling/createMessage': fitSamplingResult,
  'roots/list': (lacks, result) =>
    changeField(result, 'roots', (roots) => mapKept(roots, (root) => leaveOut(root, lacks.fields.root))),
} satisfies ResultFits)

const paramsFits: ParamsFits = Object.freeze({
  initialize: fitInitializeParams,
  'tools/call': (lacks, params) => leaveOut(params, lacks.fields.callToolParams),
  'completion/complete': fitCompletion,
  'sampling/createMessage': fitSampling,
  'elicitation/create': fitElicitation,
} satisfies ParamsFits)

const notificationFits: NotificationFits = Object.freeze({
  'notifications/progress': (lacks, params) => leaveOut(params, lacks.fields.progressParams),
} satisfies NotificationFits)

/**
 * The result as a peer of this revision knows it: without later fields, and with later kinds of content said
 * as text. Costs nothing for the newest revision. Throws NOT_IN_REVISION for what cannot be said.
 */
export function fitResult<M extends Method>({ lacks }: Dialect, method: M, result: Result<M>): Result<M> {
  if (lacks === undefined || lacks.results?.includes(method) === false) return result
  const fit: ResultFits[M] = resultFits[method]
  return fit === undefined ? result : fit(lacks, result)
}

/**
 * The params of a request as a peer of this revision knows them, like `fitResult`; the revision has to have
 * the request.
 */
export function fitParams<M extends Method>({ lacks }: Dialect, method: M, params: Params<M>): Params<M> {
  if (lacks === undefined || lacks.requests?.includes(method) === false) return params
  const fit: ParamsFits[M] = paramsFits[method]
  return fit === undefined ? params : fit(lacks, params)
}

/**
 * The params of a notification as a peer of this revision knows them, like `fitResult`; the revision has to
 * have the notification.
 */
export function fitNotification<N extends NotificationMethod>(
  { lacks }: Dialect,
  name: N,
  params: NotificationParams<N>,
): NotificationParams<N> {
  if (lacks === undefined) return params
  const fit: NotificationFits[N] = notificationFits[name]
  return fit === undefined ? params : fit(lacks, params)
}

/** The error with the code that this revision has for it. */
export function fitError({ errors }: Dialect, error: JsonRpcError): JsonRpcError {
  const code = codeIn(errors, error.code)
  return code === error.code ? error : { ...error, code }
}

function codeIn(errors: Dialect['errors'], code: number): number {
  if (code === errorCodes.resourceNotFound) return errors.resourceNotFound
  if (code === errorCodes.urlElicitationRequired) return errors.urlElicitationRequired
  return code
}

function fitTool({ fields, objectsOnly }: Lacks, tool: Tool): Tool {
  const isLost = objectsOnly && tool.outputSchema !== undefined && tool.outputSchema.type !== 'object'
  return leaveOut(isLost ? leaveOut(tool, ['outputSchema']) : tool, fields.tool)
}

function fitListed<T extends object>(lacks: Lacks, list: T[], fields: readonly string[] | undefined): T[] {
  return mapKept(list, (element) => fitHints(lacks, leaveOut(element, fields)))
}

function fitPrompt({ fields }: Lacks, prompt: Prompt): Prompt {
  return changeField(leaveOut(prompt, fields.prompt), 'arguments', (list) =>
    mapKept(list, (argument) => leaveOut(argument, fields.promptArgument)),
  )
}

function fitCompletion({ fields }: Lacks, params: CompleteParams): CompleteParams {
  return changeField(leaveOut(params, fields.completeParams), 'ref', (ref) =>
    leaveOut(ref, fields.promptReference),
  )
}
