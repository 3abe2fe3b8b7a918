import {
  type Attributes,
  type BatchObservableCallback,
  context,
  type Context,
  diag,
  type Histogram,
  type Meter,
  metrics,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api'
import { type AroundEvent, type StateEvent, subscribeClient } from './client/base/events.js'
import { isMethod } from './protocol/messages/methods.js'
import { isObject } from './protocol/wire/json.js'
import { cut } from './runtime/base/cut.js'
import { isError, messageOf } from './runtime/base/errors.js'
import { isPromise } from './runtime/base/promise.js'
import { subscribe } from './runtime/faults/events.js'
import { systemClock } from './runtime/time/clock.js'
import { Places, readRows } from './runtime/watch/rows.js'
import { type SessionEvent, subscribeServer, type WorkEvent } from './server/base/events.js'

/** Where spans and measurements go. */
export interface InstrumentOptions {
  /** Default: that of the global provider, by the name `caduceus`. */
  readonly tracer?: Tracer
  /** Default: that of the global provider, by the name `caduceus`. */
  readonly meter?: Meter
}

/**
 * Has all clients and servers of this program make spans and metrics, by the semantic conventions of
 * OpenTelemetry for MCP, until it is disposed of. Context travels in `_meta` (`traceparent`, `tracestate`,
 * `baggage`, SEP-414): a client's span is the parent of its server's, also through a gateway, and what a
 * handler traces is a child of that. Start the SDK of OpenTelemetry, with its context manager, before. Names
 * of tools and prompts are told; arguments, results and ids of sessions are not. What fails in OpenTelemetry,
 * or in what you have put into it, is told to its `diag`, and costs no call anything.
 */
export function instrument({ tracer, meter }: InstrumentOptions = {}): Disposable {
  const spans = tracer ?? trace.getTracer('caduceus')
  const safely = guard()
  const measures = measuresOf(meter ?? metrics.getMeter('caduceus'), safely)
  const lives = new Lives(spans, measures)
  const undo = [
    () => lives.end(),
    subscribeClient('call', (event) => safely(() => aroundCall(event, spans, measures))),
    subscribeServer('work', (event) => safely(() => aroundWork(event, spans, measures))),
    subscribeClient('state', (event) => safely(() => lives.client(event))),
    subscribeServer('session', (event) => safely(() => lives.session(event))),
    subscribe('progress', ({ restarted, supervisor }) => {
      if (restarted) safely(() => measures.restarts.add(1, { 'caduceus.supervisor': supervisor }))
    }),
    subscribe('crash', ({ during }) => safely(() => measures.crashes.add(1, { 'caduceus.during': during }))),
    subscribe('blocked', ({ ms }) => safely(() => measures.blocked.record(ms / 1_000))),
    observeTrees(measures),
  ]
  return {
    [Symbol.dispose]() {
      for (const each of undo.splice(0)) each()
    },
  }
}

type Measures = ReturnType<typeof measuresOf>

/** Seconds, as the conventions advise. */
const boundaries = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

function measuresOf(meter: Meter, safely: Safely) {
  const seconds = { unit: 's', advice: { explicitBucketBoundaries: boundaries } }
  return {
    client: meter.createHistogram('mcp.client.operation.duration', seconds),
    server: meter.createHistogram('mcp.server.operation.duration', seconds),
    clientSession: meter.createHistogram('mcp.client.session.duration', seconds),
    serverSession: meter.createHistogram('mcp.server.session.duration', seconds),
    blocked: meter.createHistogram('caduceus.event_loop.blocked', seconds),
    sessions: meter.createUpDownCounter('caduceus.server.sessions', { unit: '{session}' }),
    connections: meter.createCounter('caduceus.client.connections', { unit: '{connection}' }),
    restarts: meter.createCounter('caduceus.restarts', { unit: '{restart}' }),
    crashes: meter.createCounter('caduceus.crashes', { unit: '{crash}' }),
    trees: {
      meter,
      processes: meter.createObservableGauge('caduceus.processes', { unit: '{process}' }),
      messages: meter.createObservableGauge('caduceus.mailbox.messages', { unit: '{message}' }),
    },
    names: { client: new Names(), server: new Names() },
    safely,
  }
}

/** Reads all trees of this thread when they are collected, and at no other time. */
function observeTrees({ safely, trees: { meter, processes, messages } }: Measures): () => void {
  const read: BatchObservableCallback = (result) => {
    safely(() => {
      const rows = [...readRows(new Places(), { most: mostProcesses, leaveOut: new Set() }).values()]
      result.observe(processes, rows.filter(({ process }) => process !== undefined).length)
      result.observe(
        messages,
        rows.reduce((sum, { mailbox }) => sum + mailbox, 0),
      )
    })
  }
  const both = [processes, messages]
  safely(() => meter.addBatchObservableCallback(read, both))
  return () => void safely(() => meter.removeBatchObservableCallback(read, both))
}

const mostProcesses = 100_000

/** Names that are measured each by itself; further ones are `_OTHER`, as clients may ask for any. */
const mostNames = 500

class Names {
  /** By attribute: who fills up one takes nothing from another. */
  readonly #known = new Map<string, Set<string>>()

  /** A name is known once something of that name was there. */
  bounded(attribute: string, name: string, wasThere: boolean): string {
    const known = this.#known.get(attribute) ?? new Set()
    this.#known.set(attribute, known)
    if (known.has(name)) return name
    if (!wasThere || known.size >= mostNames) return other
    known.add(name)
    return name
  }
}

/** As the conventions say for what has no name of its own. */
const other = '_OTHER'

type Safely = <Result>(fn: () => Result) => Result | undefined

/**
 * Answers undefined for what fails: nobody's call may end for its spans. Tells the first failure, the second,
 * fourth, eighth.
 */
function guard(): Safely {
  let failures = 0
  return (fn) => {
    try {
      return fn()
    } catch (error) {
      failures += 1
      if ((failures & (failures - 1)) !== 0) return undefined
      try {
        diag.error(`caduceus: a span or a measurement failed (${failures} so far)`, error)
      } catch {
        // its logger is broken, too: there is nobody left to tell
      }
      return undefined
    }
  }
}

interface ClientLife {
  /** When it became ready, if it is. */
  since: number | undefined
  /** The time without a connection. */
  outage: Span | undefined
}

/**
 * How long sessions and connections last, and a span for each time in which a client looks for its server
 * again.
 */
class Lives {
  readonly #tracer: Tracer
  readonly #measures: Measures
  readonly #now: () => number
  readonly #sessions = new Map<string, number>()
  readonly #clients = new Map<string, ClientLife>()

  constructor(tracer: Tracer, measures: Measures, { now } = systemClock) {
    this.#tracer = tracer
    this.#measures = measures
    this.#now = now
  }

  session({ tree, process, server, type, revision, reason, was }: SessionEvent): void {
    const { sessions, serverSession } = this.#measures
    const key = `${tree} ${process}`
    if (type === 'hibernated') return
    if (type === 'woken') return this.#moved(`${tree} ${was}`, key)
    const began = this.#sessions.get(key)
    const about = { 'caduceus.server': server }
    if (type !== 'ended') this.#sessions.set(key, this.#now())
    else this.#sessions.delete(key)
    sessions.add(type === 'ended' ? -1 : 1, about)
    if (type !== 'ended' || began === undefined) return
    const isBad = reason === 'crash' || reason === 'killed'
    const how = { ...about, 'mcp.protocol.version': revision, ...(isBad && { 'error.type': reason }) }
    serverSession.record((this.#now() - began) / 1_000, how)
  }

  /** A session is in another process. */
  #moved(from: string, to: string): void {
    const began = this.#sessions.get(from)
    if (began === undefined) return
    this.#sessions.delete(from)
    this.#sessions.set(to, began)
  }

  client({ tree, client, phase, code, attempt }: StateEvent): void {
    const key = `${tree} ${client}`
    const life = this.#clients.get(key) ?? { since: undefined, outage: undefined }
    const about = { 'caduceus.client': client }
    const known = this.#measures.names.client.bounded('codes', String(code), true)
    const why = code === undefined ? {} : { 'error.type': known }
    const { since } = life
    if (phase === 'ready') {
      this.#clients.set(key, { since: since ?? this.#now(), outage: undefined })
      life.outage?.setAttribute('caduceus.attempts', attempt).end()
      if (since === undefined) this.#measures.connections.add(1, about)
      return
    }
    if (phase === 'closed') this.#clients.delete(key)
    else if (since !== undefined)
      this.#clients.set(key, {
        since: undefined,
        outage: this.#tracer.startSpan('reconnect', { attributes: { ...about, ...why } }),
      })
    if (since !== undefined)
      this.#measures.clientSession.record((this.#now() - since) / 1_000, { ...about, ...why })
    if (phase !== 'failed' && phase !== 'closed') return
    const { outage } = this.#clients.get(key) ?? life
    if (phase === 'failed') outage?.setStatus({ code: SpanStatusCode.ERROR }).setAttributes(why)
    outage?.end()
    if (phase === 'failed') this.#clients.delete(key)
  }

  /** What is open is told as far as it has come. */
  end(): void {
    for (const { outage } of this.#clients.values()) this.#measures.safely(() => outage?.end())
    this.#clients.clear()
    this.#sessions.clear()
  }
}

function aroundCall(event: AroundEvent, tracer: Tracer, measures: Measures): void {
  const { safely } = measures
  const attributes = attributesOf(event)
  const span = tracer.startSpan(nameOf(event), { kind: SpanKind.CLIENT, attributes })
  const within = trace.setSpan(context.active(), span)
  safely(() => propagation.inject(within, event.meta))
  const end = endOf(span, attributes, { histogram: measures.client, names: measures.names.client, safely })
  wrap(event, (run) =>
    runIn(within, run, safely).then(
      (outcome) => {
        end(() => conclude(span, { result: resultOf(outcome) }))
        return outcome
      },
      (error) => {
        end(() => fail(span, error))
        throw error
      },
    ),
  )
}

function aroundWork(event: WorkEvent, tracer: Tracer, measures: Measures): void {
  const { safely } = measures
  const attributes = { ...attributesOf(event), 'jsonrpc.request.id': cut(String(event.id), longestId) }
  const parent = parentOf(event, safely)
  const span = tracer.startSpan(nameOf(event), { kind: SpanKind.SERVER, attributes }, parent)
  const within = trace.setSpan(parent, span)
  const end = endOf(span, attributes, { histogram: measures.server, names: measures.names.server, safely })
  const giveUp = (): void => end(() => fail(span, event.signal.reason, 'cancelled'))
  const done = <Response>(response: Response): Response => {
    end(() => conclude(span, response))
    return response
  }
  const ended = (response: unknown): unknown => {
    event.signal.removeEventListener('abort', giveUp)
    return done(response)
  }
  const failed = (error: unknown): never => {
    end(() => fail(span, error))
    throw error
  }
  wrap(event, <Result>(run: () => Result): Result => {
    try {
      const result = runIn(within, run, safely)
      if (!isPromise(result)) return done(result)
      // work that is given up settles nothing
      event.signal.addEventListener('abort', giveUp, { once: true })
      return result.then(ended, failed) as Result
    } catch (error) {
      return failed(error)
    }
  })
}

const longestId = 100
const longestMessage = 1_000

/** Runs it once, within the context if that can be had; throws what it throws. */
function runIn<Result>(within: Context, run: () => Result, safely: Safely): Result {
  const ran: { outcome?: () => Result } = {}
  safely(() =>
    context.with(within, () => {
      try {
        const result = run()
        ran.outcome = () => result
      } catch (error) {
        ran.outcome = () => {
          throw error
        }
      }
    }),
  )
  return (ran.outcome ?? run)()
}

/** What came with the request, not what its connection was opened in: many requests share that. */
function parentOf({ meta }: WorkEvent, safely: Safely): Context {
  const bare = trace.deleteSpan(context.active())
  return safely(() => propagation.extract(bare, meta)) ?? bare
}

/** Puts itself around what another subscriber has put around. */
function wrap<Run extends (run: () => never) => unknown>(event: { around?: Run }, mine: Run): void {
  const { around } = event
  event.around =
    around === undefined ? mine : (((run: () => never) => around((() => mine(run)) as () => never)) as Run)
}

function nameOf({ method, target }: { method: string; target?: string }): string {
  return target === undefined || method.startsWith('resources/') ? method : `${method} ${target}`
}

function attributesOf(event: AroundEvent | WorkEvent): Attributes {
  const { method, target, revision } = event
  const isTool = method === 'tools/call'
  return {
    'mcp.method.name': method,
    ...(revision !== undefined && { 'mcp.protocol.version': revision }),
    ...(isTool && { 'gen_ai.operation.name': 'execute_tool' }),
    ...(isTool && target !== undefined && { 'gen_ai.tool.name': target }),
    ...(method === 'prompts/get' && target !== undefined && { 'gen_ai.prompt.name': target }),
    ...(method.startsWith('resources/') && target !== undefined && { 'mcp.resource.uri': target }),
    ...('client' in event
      ? { 'caduceus.client': event.client, ...networkOf(event.transport) }
      : { 'caduceus.server': event.server }),
  }
}

/** What the name of a transport tells: `http mcp.example.com:8080/mcp`, `stdio node`. */
function networkOf(transport: string): Attributes {
  const [kind = '', address = ''] = transport.split(' ')
  if (kind === 'stdio') return { 'network.transport': 'pipe' }
  const protocol = protocols[kind]
  if (protocol === undefined) return {}
  const [, host, port] = /^(\[[^\]]*\]|[^:/]*)(?::(\d+))?/.exec(address) ?? []
  return {
    'network.transport': 'tcp',
    'network.protocol.name': protocol,
    ...(host !== undefined && host !== '' && { 'server.address': host }),
    ...(port !== undefined && { 'server.port': Number(port) }),
  }
}

const protocols: Readonly<Record<string, string>> = { http: 'http', sse: 'http', websocket: 'websocket' }

/** Without what may have any value: uris, ids; and of names only as many as may be. */
function measuredOf(attributes: Attributes, ended: Attributes, names: Names): Attributes {
  const { 'mcp.resource.uri': _uri, 'jsonrpc.request.id': _id, ...rest } = attributes
  const wasThere = !notThere.has(String(ended['rpc.response.status_code']))
  for (const field of ['mcp.method.name', 'gen_ai.tool.name', 'gen_ai.prompt.name']) {
    const name = rest[field]
    if (typeof name === 'string' && !isMethod(name)) rest[field] = names.bounded(field, name, wasThere)
  }
  // the other side chooses its codes
  const codes = Object.entries(ended).map(([field, code]) => [
    field,
    names.bounded('codes', String(code), true),
  ])
  return { ...rest, ...Object.fromEntries(codes) }
}

/** Unknown methods; unknown tools and prompts, or wrong arguments. */
const notThere: ReadonlySet<string> = new Set(['-32601', '-32602'])

/** The result of a call; the client tells it with what it knows of it. */
function resultOf(outcome: unknown): unknown {
  return isObject(outcome) && 'dialect' in outcome ? outcome.result : outcome
}

/** Ends a span with an answer, which may be an error of JSON-RPC or of a tool; answers what is measured of it. */
function conclude(span: Span, answer: unknown): Attributes {
  const { error, result } = (isObject(answer) ? answer : {}) as {
    error?: { code: number; message: string }
    result?: unknown
  }
  if (error !== undefined) return fail(span, error)
  const isFailed = isObject(result) && result.isError === true
  const attributes: Attributes = isFailed ? { 'error.type': 'tool_error' } : {}
  if (isFailed) span.setAttributes(attributes).setStatus({ code: SpanStatusCode.ERROR })
  span.end()
  return attributes
}

function fail(span: Span, error: unknown, type?: string): Attributes {
  const { code } = (isObject(error) || isError(error) ? error : {}) as { code?: unknown }
  const known = typeof code === 'number' || typeof code === 'string' ? String(code) : other
  const attributes: Attributes = {
    'error.type': type ?? known,
    ...(typeof code === 'number' && { 'rpc.response.status_code': known }),
  }
  const message = isObject(error) && typeof error.message === 'string' ? error.message : messageOf(error)
  span
    .setAttributes(attributes)
    .setStatus({ code: SpanStatusCode.ERROR, message: cut(message, longestMessage) })
  span.end()
  return attributes
}

/** Concludes the span, and measures the seconds since now; once. */
function endOf(
  span: Span,
  attributes: Attributes,
  {
    histogram,
    names,
    safely,
  }: { readonly histogram: Histogram; readonly names: Names; readonly safely: Safely },
  { now } = systemClock,
): (conclusion: () => Attributes) => void {
  const began = now()
  let isOver = false
  return (conclusion) => {
    if (isOver) return
    isOver = true
    const more = safely(conclusion)
    // what ends it may have failed half way
    if (more === undefined) safely(() => span.end())
    safely(() => histogram.record((now() - began) / 1_000, measuredOf(attributes, more ?? {}, names)))
  }
}
