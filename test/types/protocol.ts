import {
  type CallToolResult,
  type ContentBlock,
  type InitializeParams,
  isNotification,
  isRequest,
  type Message,
  type NotificationParams,
  type NotificationTo,
  type Params,
  type ParamsArgument,
  type RequestTo,
  type Result,
  readParams,
  readResult,
  type Schema,
  type StandardSchema,
  type Tool,
  toSchema,
} from '../../protocol/index.js'

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
