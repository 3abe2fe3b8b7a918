// A client of a server behind a gateway that is the test's own: what it is asked is kept, what it tells is
// said here.
import type { Upstream, UpstreamCall } from 'caduceus/server'

/** What such a client was asked: the method, its params, and the options of the call. */
export interface Asked {
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  readonly options: UpstreamCall
}

type Answers = Readonly<Record<string, (params: Asked['params'], options: UpstreamCall) => unknown>>

interface Wishes {
  readonly name?: string
  readonly revision?: string
  readonly capabilities?: object
  readonly instructions?: string
  /** By method; tools, resources, templates and prompts are listed by name or address, unless told. */
  readonly answers?: Answers
  readonly tools?: readonly string[]
}

/** A client that is ready. */
export function byHand({
  name = 'up',
  revision = '2025-11-25',
  capabilities = { tools: {} },
  instructions,
  answers = {},
  tools = ['one'],
}: Wishes = {}) {
  const asked: Asked[] = []
  const told: string[] = []
  const listeners = new Map<string, Set<(value: never) => void>>()
  let state: Upstream['state'] = { phase: 'ready', reason: undefined }
  const listen = (what: string, fn: (value: never) => void): (() => void) => {
    const all = listeners.get(what) ?? new Set()
    listeners.set(what, all.add(fn))
    return () => all.delete(fn)
  }
  const own: Answers = {
    'tools/list': () => ({ tools: tools.map((one) => ({ name: one, inputSchema: { type: 'object' } })) }),
    'tools/call': () => ({ content: [{ type: 'text', text: 'done' }] }),
    ...answers,
  }
  const client = {
    name,
    get state() {
      return state
    },
    server: { info: { name, version: '1' }, capabilities, instructions, revision },
    async request(method: string, params: Asked['params'] = {}, options: UpstreamCall = {}) {
      asked.push({ method, params, options })
      const answer = own[method]
      if (answer === undefined) throw new Error(`${method} is not asked for here`)
      return (await answer(params, options)) as object
    },
    async callTool(tool: string, args: object = {}, options: UpstreamCall = {}) {
      const params = { name: tool, arguments: args }
      asked.push({ method: 'as task', params, options })
      return (await own['tools/call']?.(params, options)) as object
    },
    subscribe: async (uri: string) => void told.push(`subscribe ${uri}`),
    unsubscribe: async (uri: string) => void told.push(`unsubscribe ${uri}`),
    setLevel: async (level: string) => void told.push(`level ${level}`),
    onState: (fn: (value: never) => void) => listen('state', fn),
    onNotification: listen,
    close: async () => {
      if (state.phase === 'closed') return
      told.push('close')
      turn({ phase: 'closed', reason: undefined })
    },
  } as unknown as Upstream
  const tell = (what: string, value: object = {}): void => {
    for (const fn of listeners.get(what) ?? []) fn(value as never)
  }
  const turn = (next: Upstream['state']): void => {
    state = next
    tell('state', next)
  }
  return {
    client,
    tell,
    /** Another phase. */
    turn,
    /** What the client was told besides requests: `subscribe URI`, `unsubscribe URI`, `level LEVEL`, `close`. */
    told,
    /** Requests of one method. */
    of: (method: string): Asked[] => asked.filter((each) => each.method === method),
  }
}
