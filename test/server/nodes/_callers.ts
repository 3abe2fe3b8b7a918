import { http } from 'caduceus/transports'
import { startClient } from 'caduceus/client'
import { heard } from '../../support/heard.js'
import type { TestContext } from '../../support/suite.js'

/** Clients of all kinds, by who wrote them and what they speak. */
export const kinds = ['v1', 'v2', 'v2 modern', 'ours', 'ours modern'] as const
export type Kind = (typeof kinds)[number]

/** A client as the tests use it, whoever wrote it. It answers questions with `Ada`, and samples with `hi`. */
export interface Caller {
  call(
    name: string,
    how?: { readonly signal?: AbortSignal; readonly onProgress?: () => void },
  ): Promise<string>
  /** What it is told of, once it is: `tools` and uris. */
  readonly news: ReturnType<typeof heard<string>>
  subscribe(uri: string): Promise<void>
}

export function connect(t: TestContext, kind: Kind, url: string): Promise<Caller> {
  return kind.startsWith('ours') ? connectOurs(t, kind, url) : connectOfficial(t, kind, url)
}

async function connectOurs(t: TestContext, kind: Kind, url: string): Promise<Caller> {
  const client = await startClient({
    name: kind,
    transport: http(url),
    era: kind === 'ours' ? 'handshake' : 'modern',
    logger: false,
    onElicit: () => answers.elicit,
    onSample: () => answers.sample,
  })
  t.after(() => client.close())
  const news = heard<string>()
  client.onNotification('notifications/resources/updated', ({ uri }) => news.add(uri))
  client.onNotification('notifications/tools/list_changed', () => news.add('tools'))
  await client.ready()
  return {
    news,
    call: async (name, how) => (await client.callTool(name, {}, how)).text ?? '',
    subscribe: async (uri) => void (await client.subscribe(uri)),
  }
}

const answers = {
  elicit: { action: 'accept', content: { name: 'Ada' } },
  sample: { role: 'assistant', model: 'm', content: { type: 'text', text: 'hi' } },
} as const

/** What is used of the official clients, of which both have nearly the same. */
interface Official {
  connect(transport: object): Promise<void>
  callTool(params: object, ...rest: unknown[]): Promise<{ content: { text: string }[] }>
  setRequestHandler(what: unknown, fn: () => unknown): void
  setNotificationHandler(what: unknown, fn: (news: { params: { uri: string } }) => void): void
  subscribeResource(params: object): Promise<unknown>
  listen(filter: object): Promise<unknown>
  close(): Promise<void>
}

async function connectOfficial(t: TestContext, kind: Kind, url: string): Promise<Caller> {
  const isFirst = kind === 'v1'
  const place: string = isFirst ? '@modelcontextprotocol/sdk/client' : '@modelcontextprotocol/client'
  const { Client } = await import(isFirst ? `${place}/index.js` : place)
  const { StreamableHTTPClientTransport } = await import(isFirst ? `${place}/streamableHttp.js` : place)
  const types = isFirst ? await import('@modelcontextprotocol/sdk/types.js' as string) : undefined
  const mode = kind === 'v2 modern' ? { pin: '2026-07-28' } : 'legacy'
  const client: Official = new Client(
    { name: kind, version: '1' },
    { capabilities: { elicitation: {}, sampling: {} }, ...(!isFirst && { versionNegotiation: { mode } }) },
  )
  const news = heard<string>()
  client.setRequestHandler(types?.ElicitRequestSchema ?? 'elicitation/create', () => answers.elicit)
  client.setRequestHandler(
    types?.CreateMessageRequestSchema ?? 'sampling/createMessage',
    () => answers.sample,
  )
  client.setNotificationHandler(
    types?.ResourceUpdatedNotificationSchema ?? 'notifications/resources/updated',
    ({ params }) => news.add(params.uri),
  )
  client.setNotificationHandler(
    types?.ToolListChangedNotificationSchema ?? 'notifications/tools/list_changed',
    () => news.add('tools'),
  )
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  t.after(() => client.close())
  return {
    news,
    async call(name, { signal, onProgress } = {}) {
      const rest = { ...(signal && { signal }), ...(onProgress && { onprogress: onProgress }) }
      const params = { name, arguments: {} }
      const { content } = isFirst
        ? await client.callTool(params, undefined, rest)
        : await client.callTool(params, rest)
      return content[0]?.text ?? ''
    },
    async subscribe(uri) {
      if (kind === 'v2 modern') await client.listen({ resourceSubscriptions: [uri], toolsListChanged: true })
      else await client.subscribeResource({ uri })
    },
  }
}
