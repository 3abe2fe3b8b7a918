/** What a user's own modules export, which have to have declarations that can be written down (`declaration: true`). */
import {
  clientSpec,
  createApp,
  defineMethod,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  field,
  http,
  inMemory,
  memory,
  memoryAuthStorage,
  mount,
  promptResult,
  resourceResult,
  serveHttp,
  serverSpec,
  serveSse,
  serveStdio,
  serveWebSocket,
  shared,
  sse,
  startClient,
  startServer,
  startSupervisor,
  stdio,
  toolResult,
  websocket,
} from 'caduceus'

export const name = field.string({ min: 1 })
export const age = field.integer({ default: 1 })
export const born = field.date()
export const at = field.time().optional()
export const moment = field.datetime()
export const local = field.naiveDatetime()
export const kind = field.enum(['a', 'b'])
export const tags = field.list(field.string())
export const scores = field.map(field.number())
export const person = field.group({ name, born: field.date().optional(), nested: field.list(born) })
export const anything = field.any()
export const input = { name, person, plain: { type: 'string' } } as const

export const tool = defineTool({ name: 'a', input, output: { name }, run: ({ name }) => ({ name }) })
export const nameless = defineTool({ input: { born }, run: ({ born }) => String(born) })
export const prompt = definePrompt({ arguments: { age }, get: ({ age }) => String(age) })
export const resource = defineResource({ uri: 'a:b', read: () => '' })
export const template = defineResourceTemplate({ uriTemplate: 'a:{b}', read: ({ b }) => b })
export const method = defineMethod({ params: { name }, run: ({ name }) => ({ name }) })
export const app = createApp<{ user: { id: string }; session: { count: number } }>()
export const own = app.defineTool({ run: (_, ctx) => String(ctx.user?.id) })
export const definition = defineServer({ name: 'a', version: '1', tools: { tool, nameless } })

export const mounted = mount()
export const piped = memory()
export const listeners = { a: serveHttp(), b: serveStdio(), c: serveSse(), d: serveWebSocket() }
export const transports = { a: http('http://a'), b: stdio({ command: 'a' }), c: sse('http://a') }
export const sockets = { a: websocket('ws://a'), b: shared('a', { path: '/tmp/a' }) }
export const stores = { a: inMemory(), b: memoryAuthStorage() }
export const results = { a: toolResult(), b: promptResult(), c: resourceResult() }
export const specs = {
  a: serverSpec(definition, { transport: serveHttp() }),
  b: clientSpec({ transport: transports.a }),
}
export const starts = {
  a: () => startServer(definition, { transport: mounted }),
  b: () => startClient({ transport: piped.connect }),
  c: () => startSupervisor({ strategy: 'one_for_one', children: [] }),
}
