import { type JsonObject, writeEnvelope } from 'caduceus/protocol'
import type { RawClient, Wire } from '../_client.js'
import { type SendHow, startPort } from './_exchanges.js'
import { parts } from './_rounds-definition.js'

/** Sends a request of 2026-07-28 and resolves with its answer, last, and what came before it. */
export type Send = (method: string, params: JsonObject, how?: SendHow) => Promise<readonly Wire[]>

/** What a round asked, by key. */
export type InputRequests = Record<string, { method: string; params: { message?: string } & JsonObject }>

/** Answers the questions of one round; what is left out is not answered. */
export type Answers = (requests: InputRequests, round: number) => JsonObject

/** What a call came to. */
export type Outcome = {
  readonly wire: Wire
  /** The text of the result, and of the error where it is one. */
  readonly text: string
  /** What each round asked. */
  readonly rounds: readonly InputRequests[]
  /** What came before the last answer. */
  readonly told: readonly Wire[]
}

/** What a client with all abilities declares. */
export const able = { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } }

/** Fills every field with a word of its own. */
export const fill: Answers = (requests) =>
  Object.fromEntries(
    Object.entries(requests).map(([key, { method, params }]) => {
      if (method === 'roots/list') return [key, { roots: [{ uri: 'file:///a' }] }]
      if (method === 'sampling/createMessage')
        return [key, { role: 'assistant', content: { type: 'text', text: 'thought' }, model: 'm' }]
      const { properties } = params.requestedSchema as { properties: object }
      const content = Object.fromEntries(Object.keys(properties).map((field) => [field, `my ${field}`]))
      return [key, { action: 'accept', content }]
    }),
  )

/** Calls and answers, round for round, until there is nothing more to be asked. */
export async function converse(
  send: Send,
  method: string,
  params: JsonObject,
  { answers = fill, ...how }: SendHow & { readonly answers?: Answers } = {},
): Promise<Outcome> {
  const rounds: InputRequests[] = []
  let retry: JsonObject = {}
  for (;;) {
    const messages = await send(method, { ...params, ...retry }, { clientCapabilities: able, ...how })
    const wire = messages.at(-1) as Wire
    const requests = requestsOf(wire)
    if (requests === undefined) return { wire, text: textOf(wire), rounds, told: messages.slice(0, -1) }
    rounds.push(requests)
    retry = { requestState: stateOf(wire), inputResponses: answers(requests, rounds.length) }
    if (rounds.length > 30) throw new Error('it asks again and again')
  }
}

export function requestsOf({ result }: Wire): InputRequests | undefined {
  return result?.resultType === 'input_required' ? (result.inputRequests as InputRequests) : undefined
}

export function stateOf({ result, error }: Wire): string {
  if (typeof result?.requestState === 'string') return result.requestState
  throw new Error(`expected a state, got ${JSON.stringify(result ?? error)}`)
}

function textOf({ result, error }: Wire): string {
  if (error !== undefined) return `${error.code} ${error.message}`
  const { content, messages, contents } = result as {
    content?: { text: string }[]
    messages?: { content: { text: string } }[]
    contents?: { text: string }[]
  }
  return String((content ?? messages?.map((message) => message.content) ?? contents)?.[0]?.text)
}

/** One way of running the server. */
export type Way = {
  readonly name: string
  start(t: Parameters<typeof startPort>[0]): Promise<Send>
}

/** A server in this process, asked directly. */
export function direct(parking: boolean): Way {
  return {
    name: parking ? 'a parked handler' : 'a handler that is run again',
    async start(t) {
      const { send } = await startPort(t, parts, { limits: { parked: parking ? 1_000 : 0 } })
      return async (method, params, how) => {
        const { wire, told } = send(method, params, how)
        const answer = await wire
        if (answer === undefined) throw new Error(`${method}: there is no answer`)
        return [...told, answer]
      }
    },
  }
}

/** Sends by HTTP, each request to the next of several programs. */
export function inTurn(clients: readonly RawClient[]): Send {
  let count = 0
  return async (method, params, how = {}) => {
    count += 1
    const {
      id = count,
      revision = '2026-07-28',
      clientCapabilities = {},
      clientInfo,
      logLevel,
      progressToken,
    } = how
    const meta = writeEnvelope({ revision, clientCapabilities, clientInfo, logLevel })
    const _meta = { ...meta, ...(progressToken !== undefined && { progressToken }) }
    const client = clients[count % clients.length]
    if (client === undefined) throw new Error('there is no program')
    const { messages } = await client.post(
      { jsonrpc: '2.0', id, method, params: { ...params, _meta } },
      {
        'mcp-protocol-version': revision,
        'mcp-method': method,
        ...('ref' in params ? {} : { 'mcp-name': String(params.name ?? params.uri) }),
        ...(how.principal && { 'x-principal': JSON.stringify(how.principal) }),
      },
    )
    return messages
  }
}
