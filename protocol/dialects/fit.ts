import type { ContentBlock } from '../messages/content.js'
import type { ClientCapabilities } from '../messages/capabilities.js'
import type { CompleteParams } from '../messages/completion.js'
import type { ElicitFormParams, ElicitParams, FormField } from '../messages/elicitation.js'
import type { InitializeParams, InitializeResult } from '../messages/lifecycle.js'
import type { Method, NotificationMethod, NotificationParams, Params, Result } from '../messages/methods.js'
import type { GetPromptResult, Prompt } from '../messages/prompts.js'
import type { ReadResourceResult } from '../messages/resources.js'
import type {
  CreateMessageParams,
  CreateMessageResult,
  SamplingContent,
  SamplingMessage,
} from '../messages/sampling.js'
import type { CallToolResult, Tool } from '../messages/tools.js'
import { errorCodes, type JsonRpcError, ProtocolError } from '../wire/errors.js'
import { isObject } from '../wire/json.js'
import { declaredModes } from './capabilities.js'
import type { Dialect, Lacks } from './dialect.js'

type ResultFits = { readonly [M in Method]?: (lacks: Lacks, result: Result<M>) => Result<M> }
type ParamsFits = { readonly [M in Method]?: (lacks: Lacks, params: Params<M>) => Params<M> }
type NotificationFits = {
  readonly [N in NotificationMethod]?: (lacks: Lacks, params: NotificationParams<N>) => NotificationParams<N>
}

const resultFits: ResultFits = Object.freeze({
  initialize: fitInitializeResult,
  'server/discover': (lacks, result) =>
    changeField(result, 'capabilities', (capabilities) =>
      leaveOut(capabilities, lacks.fields.serverCapabilities),
    ),
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
 * as text. Throws NOT_IN_REVISION for what cannot be said.
 */
export function fitResult<M extends Method>({ lacks }: Dialect, method: M, result: Result<M>): Result<M> {
  if (lacks === undefined || lacks.results?.includes(method) === false) return result
  const fit: ResultFits[M] = resultFits[method]
  return fit === undefined ? result : fit(lacks, result)
}

/** The params of a request, like `fitResult`; the revision has to have the request. */
export function fitParams<M extends Method>({ lacks }: Dialect, method: M, params: Params<M>): Params<M> {
  if (lacks === undefined || lacks.requests?.includes(method) === false) return params
  const fit: ParamsFits[M] = paramsFits[method]
  return fit === undefined ? params : fit(lacks, params)
}

/** The params of a notification, like `fitResult`; the revision has to have the notification. */
export function fitNotification<N extends NotificationMethod>(
  { lacks }: Dialect,
  name: N,
  params: NotificationParams<N>,
): NotificationParams<N> {
  if (lacks === undefined) return params
  const fit: NotificationFits[N] = notificationFits[name]
  return fit === undefined ? params : fit(lacks, params)
}

/** The error with this revision's code. */
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

function fitInitializeParams(lacks: Lacks, params: InitializeParams): InitializeParams {
  const fitted = changeField(params, 'capabilities', (capabilities) => fitClient(lacks, capabilities))
  return changeField(fitted, 'clientInfo', (info) => leaveOut(info, lacks.fields.implementation))
}

function fitInitializeResult(lacks: Lacks, result: InitializeResult): InitializeResult {
  const fitted = changeField(result, 'capabilities', (capabilities) =>
    leaveOut(capabilities, lacks.fields.serverCapabilities),
  )
  return changeField(fitted, 'serverInfo', (info) => leaveOut(info, lacks.fields.implementation))
}

/** The client's capabilities, in `initialize` or in the envelope of each request. */
export function fitClient(lacks: Lacks, capabilities: ClientCapabilities): ClientCapabilities {
  const { clientCapabilities, rootsCapability, samplingCapability } = lacks.fields
  const kept = changeField(leaveOut(capabilities, clientCapabilities), 'roots', (roots) =>
    leaveOut(roots, rootsCapability),
  )
  const fitted = changeField(kept, 'sampling', (sampling) => leaveOut(sampling, samplingCapability))
  if (lacks.elicitation.length === 0) return fitted
  // where there are no modes, the capability itself promises a form: a client with urls only must not make it
  const asks = declaredModes(fitted).some((mode) => !lacks.elicitation.includes(mode))
  if (!asks) return leaveOut(fitted, ['elicitation'])
  return changeField(fitted, 'elicitation', (elicitation) => leaveOut(elicitation, ['form', 'url']))
}

/** A kind of content that the revision lacks becomes text; a kind that nobody knows passes. */
function fitContent(lacks: Lacks, block: ContentBlock): ContentBlock {
  switch (block.type) {
    case 'audio':
      return fitHints(
        lacks,
        lacks.content.includes('audio')
          ? toText(block, `[sound (${block.mimeType}) left out: the negotiated revision of MCP has no audio]`)
          : block,
      )
    case 'resource_link':
      if (!lacks.content.includes('resource_link')) return leaveOut(block, lacks.fields.resource)
      return fitHints(lacks, toText(block, `${block.title ?? block.name}: ${block.uri}`))
    case 'resource':
      return fitHints(
        lacks,
        changeField(block, 'resource', (contents) => leaveOut(contents, lacks.fields.resourceContents)),
      )
    default:
      return fitHints(lacks, block)
  }
}

/** Structured content that the revision lacks becomes text, unless there is other content. */
function fitToolResult(lacks: Lacks, result: CallToolResult): CallToolResult {
  const { structuredContent: value, content } = result
  const isLost =
    value !== undefined &&
    (lacks.fields.callToolResult?.includes('structuredContent') || (lacks.objectsOnly && !isObject(value)))
  if (isLost) {
    const kept = leaveOut(result, ['structuredContent'])
    if (content.length > 0) return fitToolResult(lacks, kept)
    return fitToolResult(lacks, { ...kept, content: [{ type: 'text', text: JSON.stringify(value) }] })
  }
  if (lacks.content.length === 0 && lacks.fields.content === undefined) return result
  return changeField(leaveOut(result, lacks.fields.callToolResult), 'content', (blocks) =>
    mapKept(blocks, (block) => fitContent(lacks, block)),
  )
}

function fitPromptResult(lacks: Lacks, result: GetPromptResult): GetPromptResult {
  return changeField(result, 'messages', (messages) =>
    mapKept(messages, (message) => changeField(message, 'content', (block) => fitContent(lacks, block))),
  )
}

function fitReadResult(lacks: Lacks, result: ReadResourceResult): ReadResourceResult {
  return changeField(result, 'contents', (parts) =>
    mapKept(parts, (part) => leaveOut(part, lacks.fields.resourceContents)),
  )
}

/** A value with `annotations` and a `_meta` of its own. */
function fitHints<T extends object>(lacks: Lacks, value: T): T {
  const kept: T & { annotations?: object } = leaveOut(value, lacks.fields.content)
  return changeField(kept, 'annotations', (hints) => leaveOut(hints, lacks.fields.annotations))
}

function toText({ annotations }: ContentBlock, text: string): ContentBlock {
  return annotations === undefined ? { type: 'text', text } : { type: 'text', text, annotations }
}

function fitElicitation(lacks: Lacks, params: ElicitParams): ElicitParams {
  const { mode = 'form' } = params
  if (lacks.elicitation.includes(mode)) throw cannotSay('elicitation/create', `mode ${mode}`)
  if (params.mode === 'url') return leaveOut(params, lacks.fields.elicitUrlParams)
  return fitForm(lacks, leaveOut(params, lacks.fields.elicitParams))
}

/** A list of content becomes several messages, one for each block. */
function fitSampling(lacks: Lacks, params: CreateMessageParams): CreateMessageParams {
  const { tools = [] } = params
  if (tools.length > 0 && lacks.content.includes('tool_use'))
    throw cannotSay('sampling/createMessage', 'tools')
  const fitted = leaveOut(params, lacks.fields.createMessageParams)
  return { ...fitted, messages: params.messages.flatMap((message) => fitMessage(lacks, message)) }
}

function fitSamplingResult(lacks: Lacks, result: CreateMessageResult): CreateMessageResult {
  return changeField(result, 'content', (content) => {
    const fitted = fitBlocks(lacks, content)
    if (!lacks.contentLists || !Array.isArray(fitted)) return fitted
    const [block, ...others] = fitted
    if (block !== undefined && others.length === 0) return block
    throw cannotSay('sampling/createMessage', `answer of ${fitted.length} blocks of content`)
  })
}

function fitForm(lacks: Lacks, params: ElicitFormParams): ElicitFormParams {
  return changeField(params, 'requestedSchema', (schema) =>
    changeField(leaveOut(schema, lacks.fields.formSchema), 'properties', (fields) =>
      Object.fromEntries(
        Object.entries(fields).map(([name, field]) => [name, fitField(lacks.form, name, field)]),
      ),
    ),
  )
}

function fitField(lacking: Lacks['form'], name: string, field: FormField): FormField {
  if (field.type === 'array' && lacking.includes('several_choices')) {
    throw cannotSay('elicitation/create', `choice of several (requestedSchema.properties.${name})`)
  }
  const kept = lacking.includes('defaults') && field.type !== 'boolean' ? leaveOut(field, ['default']) : field
  if (!('oneOf' in kept) || !lacking.includes('titled_choice')) return kept
  const { oneOf, ...rest } = kept
  return { ...rest, enum: oneOf.map((choice) => choice.const), enumNames: oneOf.map(({ title }) => title) }
}

function fitMessage(lacks: Lacks, message: SamplingMessage): SamplingMessage[] {
  const kept = leaveOut(message, lacks.fields.samplingMessage)
  const content = fitBlocks(lacks, message.content)
  if (!lacks.contentLists || !Array.isArray(content)) return [{ ...kept, content }]
  return content.map((block) => ({ ...kept, content: block }))
}

function fitBlocks(lacks: Lacks, content: SamplingMessage['content']): SamplingMessage['content'] {
  if (!Array.isArray(content)) return fitSamplingBlock(lacks, content)
  return mapKept(content, (block) => fitSamplingBlock(lacks, block))
}

function fitSamplingBlock(lacks: Lacks, block: SamplingContent): SamplingContent {
  if (block.type !== 'tool_use' && block.type !== 'tool_result')
    return fitContent(lacks, block) as SamplingContent
  if (!lacks.content.includes(block.type)) return block
  throw cannotSay('sampling/createMessage', `content of type ${block.type}`)
}

function cannotSay(method: string, what: string): ProtocolError {
  return new ProtocolError('NOT_IN_REVISION', `${method}: the negotiated revision has no ${what}`, {
    data: { method },
  })
}

/** The value without these fields; the same value where it has none of them. */
function leaveOut<T extends object>(value: T, fields: readonly string[] | undefined): T {
  if (fields === undefined || !fields.some((field) => Object.hasOwn(value, field))) return value
  return Object.fromEntries(Object.entries(value).filter(([field]) => !fields.includes(field))) as T
}

/** The value with one field changed; the same value where nothing changes. */
function changeField<T extends object, K extends keyof T>(
  value: T,
  field: K,
  change: (inner: Exclude<T[K], undefined>) => T[K],
): T {
  const inner = value[field]
  if (inner === undefined) return value
  const changed = change(inner as Exclude<T[K], undefined>)
  return changed === inner ? value : { ...value, [field]: changed }
}

/** The list with each element changed; the same list where nothing changes. */
function mapKept<T>(list: T[], change: (element: T) => T): T[] {
  const changed = list.map(change)
  return changed.every((element, index) => element === list[index]) ? list : changed
}
