import { type CallOptions, CaduceusError, type Client, McpError } from '../../index.js'
import type { Told } from './audit.js'
import type { CallKind, Ledger, Outcome } from './ledger.js'
import { type Member, ownUri, type Style } from './members.js'
import type { Random } from './random.js'

/** Who keeps account of the calls. */
export interface Books {
  readonly ledger: Ledger
  /** Milliseconds since the run began. */
  readonly now: () => number
  /** Hears of each outcome of a call that its server keeps account of. */
  readonly tell: (told: Told) => void
}

/** Milliseconds a call may take, unless it is one that is never answered. */
export const callTimeout = 30_000
/** Milliseconds by which a settled call may be told later than its timeout, on a busy machine. */
const slack = 5_000
const shortTimeout = 300
/** Calls of one member at once; whoever is without a server for a while makes no more. */
const mostAtOnce = 8
const ownTools = 'append,ask,echo,slow,steps,touch'

/** How often which call is made, and how often it may have been made when its answer was lost. */
const weights: Record<Style, Partial<Record<CallKind, number>>> = {
  own: {
    echo: 25,
    append: 30,
    again: 5,
    read: 10,
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

type Maker = (client: Client, token: string, name: string, options: CallOptions) => Promise<string>

/** Makes calls, one a time, of the kinds that a member's server has. */
export class Caller {
  readonly #books: Books
  readonly #random: Random
  readonly #open = new Map<Member, number>()
  #calls = 0

  constructor(books: Books, random: Random) {
    this.#books = books
    this.#random = random
  }

  /** Makes a call of any kind, unless this member has too many under way. */
  any(member: Member): void {
    if ((this.#open.get(member) ?? 0) >= mostAtOnce) return
    void this.make(member, this.#pick(member.style))
  }

  /** Makes a call of that kind, and resolves with what came of it. */
  async make(member: Member, kind: CallKind): Promise<Outcome> {
    const { ledger, now, tell } = this.#books
    const { name, style } = member
    this.#calls += 1
    const id = this.#calls
    const token = `${name}-${kind}-${id}`
    const timeout = kind === 'timeout' ? shortTimeout : callTimeout
    const at = now()
    ledger.begin({
      id,
      client: name,
      kind,
      expected: expected(style, kind, token, name),
      at,
      deadline: at + timeout + slack,
    })
    this.#open.set(member, (this.#open.get(member) ?? 0) + 1)
    const outcome = await this.#outcome(makers[style][kind], member, token, timeout, kind)
    this.#open.set(member, (this.#open.get(member) ?? 1) - 1)
    ledger.settle(id, outcome, now())
    if (style === 'own' && counted.has(kind))
      tell({ token, code: outcome.code, sent: outcome.sent, most: mostTimes[kind] ?? 1 })
    return outcome
  }

  async #outcome(
    maker: Maker | undefined,
    { client, name }: Member,
    token: string,
    timeout: number,
    kind: CallKind,
  ) {
    const abort = kind === 'abort' ? AbortSignal.timeout(this.#random.between(1, 150)) : undefined
    try {
      if (maker === undefined) throw new Error(`no call of the kind ${kind}`)
      const answer = await maker(client, token, name, { timeout, ...(abort && { signal: abort }) })
      return { code: 'ok', answer, sent: true }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      if (error instanceof McpError) return { code: 'MCP', message, sent: true }
      if (!(error instanceof CaduceusError)) return { code: 'unknown', message: `${message}`, sent: true }
      const { sent } = error.data as { sent?: unknown }
      return { code: error.code, message, sent: sent !== false }
    }
  }

  #pick(style: Style): CallKind {
    const kinds = Object.entries(weights[style]) as [CallKind, number][]
    return this.#random.pick(kinds, ([, weight]) => weight)?.[0] ?? 'echo'
  }
}

const counted: ReadonlySet<CallKind> = new Set([
  'echo',
  'append',
  'again',
  'steps',
  'ask',
  'abort',
  'timeout',
])

function tool(name: string, args: (token: string, client: string) => Record<string, unknown>): Maker {
  return async (client, token, own, options) => {
    const result = await client.callTool(name, args(token, own), options)
    return result.isError === true ? `error: ${result.text}` : result.text
  }
}

const withToken = (token: string) => ({ token })
const list: Maker = async (client, _token, _name, options) => {
  const { tools } = await client.listTools(options)
  return tools
    .map(({ name }) => name)
    .sort()
    .join()
}
const makers: Record<Style, Partial<Record<CallKind, Maker>>> = {
  own: {
    echo: tool('echo', withToken),
    append: tool('append', withToken),
    again: (client, token, name, options) =>
      tool('append', withToken)(client, token, name, { ...options, retry: 'safe' }),
    read: async (client, _token, name, options) => (await client.readResource(ownUri(name), options)).text,
    list,
    async steps(client, token, name, options) {
      const steps: number[] = []
      const onProgress = ({ progress }: { readonly progress: number }): number => steps.push(progress)
      const text = await tool('steps', withToken)(client, token, name, { ...options, onProgress })
      return `${text} ${steps.join()}`
    },
    ask: tool('ask', withToken),
    touch: tool('touch', (_token, name) => ({ uri: ownUri(name) })),
    abort: tool('slow', (token) => ({ token, ms: 100 })),
    timeout: tool('slow', (token) => ({ token, ms: 60_000 })),
  },
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
    list: async (...args) => ((await list(...args)).split(',').includes('echo') ? 'echo' : 'no echo'),
  },
}

function expected(style: Style, kind: CallKind, token: string, name: string): string {
  if (kind === 'list') return style === 'own' ? ownTools : 'echo'
  if (kind === 'read') return name
  if (kind === 'steps') return `${token} 1,2,3`
  if (kind === 'ask') return `accept ${answerTo(token)}`
  if (kind === 'touch') return style === 'own' ? ownUri(name) : 'told'
  return style === 'everything' ? `Echo: ${token}` : token
}

/** What a client answers when it is asked this. */
export function answerTo(question: string): string {
  return [...question].reverse().join('')
}
