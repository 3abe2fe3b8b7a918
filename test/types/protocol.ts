import {
  acceptsRequest,
  type CallToolResult,
  type CompleteResult,
  type ContentBlock,
  type CreateMessageParams,
  type Dialect,
  dialect20241105,
  type ElicitParams,
  type FormField,
  fitNotification,
  fitParams,
  fitResult,
  type GetPromptResult,
  type InitializeParams,
  isNotification,
  isRequest,
  type LackingFields,
  type ListRootsResult,
  type Message,
  missingForQuestion,
  type NotificationParams,
  type NotificationTo,
  type Params,
  type ParamsArgument,
  type RequestTo,
  type ReadResourceResult,
  type Result,
  type Revision,
  readParams,
  readResult,
  type Schema,
  type StandardSchema,
  type Tool,
  toSchema,
} from 'caduceus/protocol'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

function isTrue<_ extends true>(): void {}

declare function request<M extends RequestTo<'server'>>(
  method: M,
  ...params: ParamsArgument<Params<M>>
): Promise<Result<M>>
declare function notify<N extends NotificationTo<'client'>>(
  method: N,
  ...params: ParamsArgument<NotificationParams<N>>
): void

export async function requestsAreInferredFromTheTable(): Promise<void> {
  const { tools, nextCursor } = await request('tools/list')
  isTrue<Equal<typeof tools, Tool[]>>()
  isTrue<Equal<typeof nextCursor, string | undefined>>()
  const called = await request('tools/call', {
    name: 'add',
    arguments: { a: 1 },
    _meta: { progressToken: 1 },
  })
  isTrue<Equal<typeof called, CallToolResult>>()
  await request('ping')
  await request('tools/list', { cursor: '' })

  // @ts-expect-error there is no such method
  await request('tools/lists')
  // @ts-expect-error a call names its tool
  await request('tools/call')
  // @ts-expect-error a call names its tool
  await request('tools/call', { arguments: {} })
  // @ts-expect-error arguments are an object
  await request('tools/call', { name: 'add', arguments: [1] })
  // @ts-expect-error a cursor is a string
  await request('tools/list', { cursor: 1 })
  // @ts-expect-error a token is a string or a number
  await request('ping', { _meta: { progressToken: true } })
  // @ts-expect-error results have no such field
  called.contents
}

export function notificationsAreInferredFromTheTable(): void {
  notify('notifications/tools/list_changed')
  notify('notifications/progress', { progressToken: 'a', progress: 0.5 })
  notify('notifications/message', { level: 'info', data: null })

  // @ts-expect-error a client is never told that it has initialized
  notify('notifications/initialized')
  // @ts-expect-error progress has a token
  notify('notifications/progress', { progress: 1 })
  // @ts-expect-error there is no such level
  notify('notifications/message', { level: 'warn', data: 1 })
  // @ts-expect-error a message has data
  notify('notifications/message', { level: 'info' })
}

export function readersReturnTheTypesOfTheTable(): void {
  const params = readParams('initialize', {})
  isTrue<Equal<typeof params, InitializeParams>>()
  const result = readResult('tools/call', {})
  isTrue<Equal<typeof result, CallToolResult>>()
  // @ts-expect-error there is no such method
  readParams('initialise', {})
}

export function messagesAreToldApartByTheirKeys(message: Message): void {
  if (isRequest(message)) message.id satisfies string | number
  if (isNotification(message)) {
    message.method satisfies string
    // @ts-expect-error a notification has no id
    message.id
  }
  if ('result' in message) message.result satisfies object
  // @ts-expect-error not every message has a method
  message.method
  // @ts-expect-error messages are not to be changed
  message.jsonrpc = '2.0'
}

export function contentBlocksAreToldApartByTheirType(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'image':
    case 'audio':
      return block.mimeType
    case 'resource':
      return block.resource.uri
    case 'resource_link':
      return block.uri
    default:
      return block satisfies never
  }
}

export function schemasInferWhatTheyRead(age: StandardSchema<string, number>): void {
  isTrue<Equal<ReturnType<typeof toSchema<typeof age>>, Schema<number>>>()
  const plain = toSchema({ type: 'object' })
  isTrue<Equal<typeof plain, Schema<unknown>>>()
  // @ts-expect-error a schema is an object
  toSchema('string')
  // @ts-expect-error there are two sides
  toSchema(age, 'inside')
}

export function everyMethodOfTheHandshakeRevisionsIsInTheTable(): void {
  isTrue<Equal<Result<'resources/read'>, ReadResourceResult>>()
  isTrue<Equal<Result<'prompts/get'>, GetPromptResult>>()
  isTrue<Equal<Result<'completion/complete'>, CompleteResult>>()
  isTrue<Equal<Result<'roots/list'>, ListRootsResult>>()
  isTrue<Equal<Params<'sampling/createMessage'>, CreateMessageParams>>()
  isTrue<Equal<Params<'elicitation/create'>, ElicitParams>>()
  isTrue<Equal<NotificationParams<'notifications/resources/updated'>['uri'], string>>()
  isTrue<Equal<Revision, '2024-11-05' | '2025-03-26' | '2025-06-18' | '2025-11-25' | '2026-07-28'>>()

  const read: Params<'resources/read'> = { uri: 'file:///a' }
  read satisfies Params<'resources/subscribe'>
  // @ts-expect-error the arguments of a prompt are strings
  const prompt: Params<'prompts/get'> = { name: 'p', arguments: { age: 3 } }
  // @ts-expect-error there is no such level
  const level: Params<'logging/setLevel'> = { level: 'warn' }
  // @ts-expect-error sampling has a limit of tokens
  const sampling: Params<'sampling/createMessage'> = { messages: [] }
  // @ts-expect-error a message of a prompt has one block
  const answer: Result<'prompts/get'> = { messages: [{ role: 'user', content: [] }] }
  void [prompt, level, sampling, answer]
}

export function elicitationsAreToldApartByTheirMode(params: ElicitParams): string | object {
  if (params.mode === 'url') return params.url
  // @ts-expect-error a form has no address
  params.url
  return params.requestedSchema.properties
}

export function formsAreFlat(): void {
  const choice: FormField = { type: 'string', oneOf: [{ const: 'r', title: 'Red' }] }
  const choices: FormField = { type: 'array', items: { anyOf: [{ const: 'r', title: 'Red' }] } }
  // @ts-expect-error a form has no fields inside fields
  const nested: FormField = { type: 'object', properties: {} }
  // @ts-expect-error the default of a number is one
  const wrong: FormField = { type: 'integer', default: '1' }
  void [choice, choices, nested, wrong]
}

export function fittingKeepsTheTypeOfTheMessage(dialect: Dialect, result: CallToolResult): void {
  const fitted = fitResult(dialect, 'tools/call', result)
  isTrue<Equal<typeof fitted, CallToolResult>>()
  const params = fitParams(dialect, 'sampling/createMessage', { messages: [], maxTokens: 1 })
  isTrue<Equal<typeof params, CreateMessageParams>>()
  fitNotification(dialect, 'notifications/progress', { progressToken: 1, progress: 1 })
  missingForQuestion(dialect, 'roots/list', {}, {})

  // @ts-expect-error the result of another method
  fitResult(dialect, 'tools/list', result)
  // @ts-expect-error there is no such method
  fitParams(dialect, 'tools/lists', {})
  // @ts-expect-error progress has a token
  fitNotification(dialect, 'notifications/progress', { progress: 1 })
  // @ts-expect-error a server asks a client nothing of the kind
  missingForQuestion(dialect, 'tools/call', { name: 'a' }, {})
}

export function dialectsAreData(method: string): void {
  if (acceptsRequest(dialect20241105, 'server', method)) method satisfies RequestTo<'server'>
  // @ts-expect-error what a dialect says is not to be changed
  dialect20241105.batches = true
  const lacking: LackingFields = { tool: ['title', 'icons'] }
  // @ts-expect-error tools have no such field
  const unknown: LackingFields = { tool: ['icon'] }
  // @ts-expect-error what every tool has cannot be left out
  const needed: LackingFields = { tool: ['name'] }
  void [lacking, unknown, needed]
}
