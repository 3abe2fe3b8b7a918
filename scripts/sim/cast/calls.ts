import {
  CaduceusError,
  type CallOptions,
  type Client,
  type ClientPool,
  McpError,
  withClient,
} from '../../../index.js'
import type { Invoke, Operation, Unstamped } from '../history/history.js'
import type { Act, ClientPlan } from '../plan/plan.js'
import type { Callee, ClientHost } from './client-host.js'
import { type Answer, wordless } from './runs.js'
import type { Stage } from './stage.js'

/** Does what an act says, and takes down what comes of it. */
export function makeCalls(stage: Stage, host: ClientHost, act: Act): void {
  const callee = host.calleeOf(act)
  if (callee === undefined) return
  if (act.operation === 'follow') return follow(host, callee)
  for (let at = 1; at <= (act.count ?? 1); at++)
    makeCall(stage, host, callee, act, act.count === undefined ? `${act.id}` : `${act.id}.${at}`)
}

function makeCall({ recorder }: Stage, host: ClientHost, callee: Callee, act: Act, id: string): void {
  const { program, plan } = host
  if (program === undefined) return
  // a timer that many share may settle a call of a program that has died
  const note = (event: Unstamped): void => {
    if (program.phase !== 'dead') recorder.add(event)
  }
  const call = `call ${id} ${act.operation}`
  const token = `t${id}`
  recorder.add({ type: 'invoke', call, token, ...invokeOf(callee, act, plan, token) })
  program.enter(() => {
    const gone = new AbortController()
    const timer =
      act.patience === undefined
        ? undefined
        : program.world.setTimeout(() => {
            // a task is asked to connect and to close as well, which nobody can give up
            if (callee.kind !== 'task') note({ type: 'cancel', call })
            gone.abort()
          }, act.patience)
    const settle = (): void => program.world.clearTimeout(timer)
    const onProgress: CallOptions['onProgress'] = ({ progress, message = wordless(progress) }) =>
      note({
        type: 'received',
        program: plan.name,
        client: callee.name,
        kind: 'progress',
        payload: message,
        broadcast: false,
        call,
        progress,
      })
    const options = {
      ...optionsOf(act),
      signal: gone.signal,
      ...(act.operation === 'slow' && { onProgress }),
    }
    perform(callee, act, token, options).then(
      ({ value, list, elements }) => {
        settle()
        note({
          type: 'ok',
          call,
          ...(value !== undefined && { value }),
          ...(list !== undefined && { list }),
          ...(elements !== undefined && { elements }),
        })
      },
      (error: unknown) => {
        settle()
        note({ type: 'fail', call, ...failureOf(error) })
      },
    )
  })
}

/** Listens to what is told of resources for a while, as a loop that is left does. */
function follow({ program }: ClientHost, callee: Callee): void {
  if (callee.kind !== 'client' || program === undefined) return
  program.enter(async () => {
    const news = callee.client.notifications('notifications/resources/updated')
    const timer = program.world.setTimeout(() => void news.return?.(), 3_000)
    for await (const _ of news) break
    program.world.clearTimeout(timer)
  })
}

function invokeOf(
  callee: Callee,
  act: Act,
  plan: ClientPlan,
  token: string,
): Omit<Invoke, 'type' | 'call' | 'token'> {
  const { operation, timeout, prolonged, uri } = act
  const expected = expectedOf(act, plan.name, token)
  const most = mostRuns(act, plan)
  // a task connects, calls and closes; a transaction waits for a member, and calls it then
  const isTwice = prolonged || operation === 'transaction'
  const whole = callee.kind === 'task' ? 2 * timeout + 10_000 : isTwice ? 2 * timeout : timeout
  return {
    program: plan.name,
    client: callee.name,
    ...(plan.principal !== undefined && { principal: plan.principal }),
    era: plan.era === 'handshake' ? 'session' : 'modern',
    operation: operations[operation] ?? (operation as Operation),
    noted: !unnoted.has(operation),
    timeout: whole,
    ...(uri !== undefined && { uri }),
    ...(most !== undefined && { most }),
    ...(expected !== undefined && { expected }),
  }
}

/** What the history calls them. */
const operations: Partial<Record<Act['operation'], Operation>> = {
  once: 'echo',
  big: 'echo',
  defer: 'echo',
  resource: 'echo',
  prompt: 'echo',
  complete: 'echo',
  transaction: 'echo',
  roots: 'elicit',
  steps: 'elicit',
  pages: 'list',
  level: 'other',
  reconnect: 'other',
}

/** Their handlers are the library's. */
const unnoted: ReadonlySet<Act['operation']> = new Set([
  'list',
  'pages',
  'ping',
  'touch',
  'subscribe',
  'unsubscribe',
  'level',
  'reconnect',
])

function expectedOf({ operation, uri }: Act, client: string, token: string): string | undefined {
  switch (operation) {
    case 'elicit':
      return `accept ${client}`
    case 'sample':
      return `${client} ${token}`
    case 'roots':
      return `file:///${client}`
    case 'steps':
      return `${token} accept ${client}`
    case 'touch':
      return uri
    default:
      return operations[operation] === 'echo' || operation === 'echo' || operation === 'slow'
        ? token
        : undefined
  }
}

/** Its answers change nothing more when it is made twice, as far as the server says. */
const harmless: ReadonlySet<Act['operation']> = new Set([
  'read',
  'echo',
  'big',
  'resource',
  'prompt',
  'complete',
])
/** In 2026-07-28 their handlers run again with each answer. */
const inRounds: ReadonlySet<Act['operation']> = new Set(['elicit', 'sample', 'roots', 'steps'])

/** How often its handler may run: the table of client/calls/README.md. */
function mostRuns(act: Act, plan: ClientPlan): number | undefined {
  const { operation } = act
  if (inRounds.has(operation) && plan.era !== 'handshake') return undefined
  const retry = act.retry ?? plan.retry
  const isHarmless = harmless.has(operation)
  if (retry === 'never') return 1
  if (retry === 'safe') return 2
  if (retry === undefined) return isHarmless ? 2 : 1
  return isHarmless || retry.safe ? retry.attempts : 1
}

function optionsOf({ timeout, retry, impatient, prolonged }: Act): CallOptions {
  return {
    timeout,
    ...(retry !== undefined && { retry }),
    ...(impatient && { wait: false }),
    ...(prolonged && { resetOnProgress: true, totalTimeout: 2 * timeout }),
  }
}

async function perform(callee: Callee, act: Act, token: string, options: CallOptions): Promise<Answer> {
  if (callee.kind === 'client') return performOn(callee.client, act, token, options)
  if (callee.kind === 'pool') return performInPool(callee.pool, act, token, options)
  return withClient(callee.options, (client) => performOn(client, act, token, options))
}

/** A pool makes calls and lists itself, and any request. */
async function performInPool(
  pool: ClientPool,
  act: Act,
  token: string,
  options: CallOptions,
): Promise<Answer> {
  const { timeout, signal } = options
  const checkout = { timeout: timeout ?? 1_000, ...(signal !== undefined && { signal }) }
  if (act.operation === 'transaction')
    return pool.transaction((client) => callTool(client, 'once', { token }, options), checkout)
  return performOn(pool, act, token, options)
}

type Caller = Pick<Client, 'callTool' | 'listTools' | 'request'>

async function performOn(
  caller: Client | ClientPool,
  act: Act,
  token: string,
  options: CallOptions,
): Promise<Answer> {
  const { operation, size, ms, uri } = act
  switch (operation) {
    case 'list': {
      const { tools } = await caller.listTools({ ...options, fresh: true })
      return { value: tools.map(({ name }) => name).join() }
    }
    case 'pages': {
      const { resourceTemplates } = await caller.request('resources/templates/list', {}, options)
      return { value: resourceTemplates.map(({ name }) => name).join() }
    }
    case 'ping':
      await caller.request('ping', {}, options)
      return {}
    case 'resource': {
      const { contents } = await caller.request('resources/read', { uri: `sim://note/${token}` }, options)
      const [content] = contents
      return JSON.parse(content !== undefined && 'text' in content ? content.text : '{}') as Answer
    }
    case 'prompt': {
      const { messages } = await caller.request(
        'prompts/get',
        { name: 'word', arguments: { token } },
        options,
      )
      const [content] = [messages[0]?.content].flat()
      return JSON.parse(content?.type === 'text' ? content.text : '{}') as Answer
    }
    case 'complete': {
      const ref = { type: 'ref/resource', uri: 'sim://note/{token}' } as const
      const argument = { name: 'token', value: token }
      const { completion } = await caller.request('completion/complete', { ref, argument }, options)
      return JSON.parse(completion.values[0] ?? '{}') as Answer
    }
    case 'touch':
      return callTool(caller, 'touch', { uri }, options)
    case 'big':
      return callTool(caller, 'big', { token, size }, options)
    case 'slow':
      return callTool(caller, 'slow', { token, steps: size, ms }, options)
    case 'defer':
      return callTool(caller, 'defer', { token, ms }, options)
    case 'subscribe':
    case 'unsubscribe':
    case 'level':
    case 'reconnect':
      if ('subscribe' in caller) await wish(caller, act, options)
      return {}
    default:
      return callTool(caller, operation, { token }, options)
  }
}

async function wish(client: Client, { operation, uri = '' }: Act, options: CallOptions): Promise<void> {
  if (operation === 'subscribe') return client.subscribe(uri, options)
  if (operation === 'unsubscribe') return client.unsubscribe(uri, options)
  if (operation === 'level') return client.setLevel('info', options)
  const { timeout, signal } = options
  const given = { ...(timeout !== undefined && { timeout }), ...(signal !== undefined && { signal }) }
  return client.reconnect(given)
}

async function callTool(
  caller: Caller,
  name: string,
  args: Record<string, unknown>,
  options: CallOptions,
): Promise<Answer> {
  const result = await caller.callTool(name, args, options)
  if (result.isError) throw new ToolFailed(result.text)
  return JSON.parse(result.text) as Answer
}

/** The tool answers that it cannot. */
class ToolFailed extends Error {}

interface Failure {
  readonly code: string
  readonly sent: boolean
  readonly message: string
  readonly retryable?: boolean
}

function failureOf(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof McpError) return { code: 'MCP', sent: true, message, retryable: error.retryable }
  if (error instanceof ToolFailed) return { code: 'TOOL', sent: true, message }
  if (!(error instanceof CaduceusError)) return { code: 'UNKNOWN', sent: true, message }
  const { sent } = (error.data ?? {}) as { readonly sent?: unknown }
  return { code: error.code, sent: sent !== false, message, retryable: error.retryable }
}
