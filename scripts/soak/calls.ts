import { type CallOptions, CaduceusError, McpError } from 'caduceus'
import type { Operation } from '../sim/history/history.js'
import type { HistoryLog } from './history-log.js'
import type { CallKind, Ledger, Outcome } from './ledger.js'
import { type Member, ownUri, type Style } from './members.js'
import type { Random } from './random.js'

/** What these calls need of a client. */
export interface Callable {
  callTool(
    name: string,
    args: Record<string, unknown>,
    options: CallOptions,
  ): Promise<{ readonly isError?: boolean; readonly text: string }>
  listTools(options: CallOptions): Promise<{ readonly tools: readonly { readonly name: string }[] }>
  readResource(uri: string, options: CallOptions): Promise<{ readonly text: string }>
}

/** Who makes them. */
export type Calling = Pick<Member, 'name' | 'style' | 'era'> & { readonly client: Callable }

/** Who keeps account of the calls. */
export interface Books {
  readonly ledger: Pick<Ledger, 'begin' | 'settle'>
  /** Milliseconds since the run began. */
  readonly now: () => number
  readonly history: HistoryLog
}

/** Milliseconds a call may take, unless it is one that is never answered. */
export const callTimeout = 30_000
/** Milliseconds by which a settled call may be told later than its timeout, on a busy machine. */
export const slack = 5_000
const shortTimeout = 300
/** Calls of one member at once; whoever is without a server for a while makes no more. */
const mostAtOnce = 8
const ownTools = 'append,ask,echo,recall,slow,steps,touch'

/** How often which call is made, and how often it may have been made when its answer was lost. */
const weights: Record<Style, Partial<Record<CallKind, number>>> = {
  own: {
    echo: 25,
    append: 30,
    again: 5,
    recall: 8,
    read: 5,
    list: 10,
    steps: 8,
    ask: 5,
    touch: 4,
    abort: 5,
    timeout: 3,
  },
  official: {
    echo: 25,
    append: 30,
    recall: 8,
    read: 5,
    list: 10,
    steps: 8,
    ask: 5,
    touch: 4,
    abort: 5,
    timeout: 3,
  },
  raw: { echo: 60, list: 20, timeout: 5 },
  everything: { echo: 60, list: 20 },
}
const mostTimes: Partial<Record<CallKind, number>> = { echo: 2, again: 2 }
/** What servers of ours take these calls for, and tell of; they tell of no other. */
const operations: Partial<Record<CallKind, Operation>> = {
  echo: 'echo',
  append: 'append',
  again: 'append',
  steps: 'slow',
  ask: 'elicit',
  abort: 'slow',
  timeout: 'slow',
}

/** What was answered: a text, and the list of the session as the call saw it. */
interface Answer {
  readonly text: string
  readonly list?: string
  readonly elements?: readonly string[]
}

type Maker = (client: Callable, token: string, name: string, options: CallOptions) => Promise<Answer>

/** Makes calls, one a time, of the kinds that a member's server has. */
export class Caller {
  readonly #books: Books
  readonly #random: Random
  readonly #open = new Map<Calling, number>()
  #calls = 0

  constructor(books: Books, random: Random) {
    this.#books = books
    this.#random = random
  }

  /** Makes a call of any kind, unless this member has too many under way. */
  any(member: Calling): void {
    if ((this.#open.get(member) ?? 0) >= mostAtOnce) return
    void this.make(member, this.#pick(member.style))
  }

  /** Makes a call of that kind, and resolves with what came of it. */
  async make(member: Calling, kind: CallKind): Promise<Outcome> {
    const { ledger, history, now } = this.#books
    const { name, style, era } = member
    this.#calls += 1
    const id = this.#calls
    const token = `${name}-${kind}-${id}`
    const call = `${id}`
    const timeout = kind === 'timeout' ? shortTimeout : callTimeout
    const at = now()
    const due = expected(style, kind, token, name)
    ledger.begin({ id, client: name, kind, expected: due, at, deadline: at + timeout + slack })
    this.#open.set(member, (this.#open.get(member) ?? 0) + 1)
    history.add(name, {
      type: 'invoke',
      call,
      program: 'soak',
      client: name,
      era,
      operation: kind === 'recall' ? 'read' : (operations[kind] ?? 'other'),
      token,
      ...(operations[kind] !== undefined && { most: mostTimes[kind] ?? 1 }),
      noted: tellsRuns(style) && operations[kind] !== undefined,
      expected: due,
      timeout,
    })
    const outcome = await this.#outcome(member, token, call, timeout, kind)
    this.#open.set(member, (this.#open.get(member) ?? 1) - 1)
    ledger.settle(id, outcome, now())
    return outcome
  }

  async #outcome(
    member: Calling,
    token: string,
    call: string,
    timeout: number,
    kind: CallKind,
  ): Promise<Outcome> {
    const { history } = this.#books
    const { client, name, style } = member
    const maker = makers[style][kind]
    const abort = kind === 'abort' ? AbortSignal.timeout(this.#random.between(1, 150)) : undefined
    const cancel = (): void => history.add(name, { type: 'cancel', call })
    abort?.addEventListener('abort', cancel, { once: true })
    const onProgress = ({ progress, message }: { progress: number; message?: string }): void => {
      history.add(name, {
        type: 'received',
        program: 'soak',
        client: name,
        kind: 'progress',
        payload: message ?? '',
        broadcast: false,
        call,
        progress,
      })
    }
    try {
      if (maker === undefined) throw new Error(`no call of the kind ${kind}`)
      const { text, ...seen } = await maker(client, token, name, {
        timeout,
        ...(abort && { signal: abort }),
        ...(kind === 'steps' && { onProgress }),
      })
      history.add(name, { type: 'ok', call, value: text, ...seen })
      return { code: 'ok', answer: text }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      const code = error instanceof McpError ? 'MCP' : error instanceof CaduceusError ? error.code : 'unknown'
      const sent =
        !(error instanceof CaduceusError) || (error.data as { sent?: unknown } | undefined)?.sent !== false
      history.add(name, { type: 'fail', call, code, sent, message })
      return { code, message }
    } finally {
      abort?.removeEventListener('abort', cancel)
    }
  }

  #pick(style: Style): CallKind {
    const kinds = Object.entries(weights[style]) as [CallKind, number][]
    return this.#random.pick(kinds, ([, weight]) => weight)?.[0] ?? 'echo'
  }
}

function tool(name: string, args: (token: string, client: string) => Record<string, unknown>): Maker {
  return async (client, token, own, options) => {
    const result = await client.callTool(name, args(token, own), options)
    return { text: result.isError === true ? `error: ${result.text}` : result.text }
  }
}

/** A tool that answers with the list of its session. */
function listTool(name: string, more: CallOptions = {}): Maker {
  return async (client, token, own, options) => {
    const { text } = await tool(name, withToken)(client, token, own, { ...options, ...more })
    if (!text.startsWith('{')) return { text }
    const { token: said, ...seen } = JSON.parse(text) as { token: string } & Omit<Answer, 'text'>
    return { text: said, ...seen }
  }
}

const withToken = (token: string) => ({ token })
const list: Maker = async (client, _token, _name, options) => {
  const { tools } = await client.listTools(options)
  const names = tools.map(({ name }) => name)
  return { text: names.sort().join() }
}
const own: Partial<Record<CallKind, Maker>> = {
  echo: tool('echo', withToken),
  append: listTool('append'),
  again: listTool('append', { retry: 'safe' }),
  recall: listTool('recall'),
  read: async (client, _token, name, options) => ({
    text: (await client.readResource(ownUri(name), options)).text,
  }),
  list,
  async steps(client, token, name, options) {
    const steps: number[] = []
    const onProgress: CallOptions['onProgress'] = (told) => {
      options.onProgress?.(told)
      steps.push(told.progress)
    }
    const { text } = await tool('steps', withToken)(client, token, name, { ...options, onProgress })
    return { text: `${text} ${steps.join()}` }
  },
  ask: tool('ask', withToken),
  touch: tool('touch', (_token, name) => ({ uri: ownUri(name) })),
  abort: tool('slow', (token) => ({ token, ms: 100 })),
  timeout: tool('slow', (token) => ({ token, ms: 60_000 })),
}
const makers: Record<Style, Partial<Record<CallKind, Maker>>> = {
  own,
  // progress that comes in one piece with the answer is not told by them
  official: { ...own, steps: tool('steps', withToken) },
  raw: {
    echo: tool('echo', (text) => ({ text })),
    list,
    touch: tool('tell', (_token, name) => ({
      method: 'notifications/resources/updated',
      params: { uri: ownUri(name) },
    })),
    timeout: tool('hang', () => ({})),
  },
  everything: {
    echo: tool('echo', (message) => ({ message })),
    list: async (...args) => ({
      text: (await list(...args)).text.split(',').includes('echo') ? 'echo' : 'no echo',
    }),
  },
}

function expected(style: Style, kind: CallKind, token: string, name: string): string {
  if (kind === 'list') return tellsRuns(style) ? ownTools : 'echo'
  if (kind === 'read') return name
  if (kind === 'steps') return style === 'own' ? `${token} 1,2,3` : token
  if (kind === 'ask') return `accept ${answerTo(token)}`
  if (kind === 'touch') return tellsRuns(style) ? ownUri(name) : 'told'
  return style === 'everything' ? `Echo: ${token}` : token
}

/** Whether its server is one of ours, and writes down what it does. */
function tellsRuns(style: Style): boolean {
  return style === 'own' || style === 'official'
}

/** What a client answers when it is asked this. */
export function answerTo(question: string): string {
  return [...question].reverse().join('')
}
