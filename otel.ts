import {
  type Attributes,
  context,
  type Context,
  type Meter,
  metrics,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api'
import { type AroundEvent, subscribeClient } from './client/base/events.js'
import { isObject } from './protocol/wire/json.js'
import { isError, messageOf } from './runtime/base/errors.js'
import { isPromise } from './runtime/base/promise.js'
import { subscribe } from './runtime/faults/events.js'
import { systemClock } from './runtime/time/clock.js'
import { subscribeServer, type WorkEvent } from './server/base/events.js'

/** Where spans and measurements go. */
export interface InstrumentOptions {
  /** Default: that of the global provider, by the name `caduceus`. */
  readonly tracer?: Tracer
  /** Default: that of the global provider, by the name `caduceus`. */
  readonly meter?: Meter
}

/**
 * Has all clients and servers of this program make spans and metrics, by the semantic conventions of OpenTelemetry for
 * MCP, until it is disposed of. Context travels in `_meta` (`traceparent`, `tracestate`, `baggage`, SEP-414): a client's
 * span is the parent of its server's, also through a gateway, and what a handler traces is a child of that. Start the
 * SDK of OpenTelemetry, with its context manager, before. Names of tools and prompts are told; arguments, results and
 * ids of sessions are not.
 */
export function instrument({ tracer, meter }: InstrumentOptions = {}): Disposable {
  const spans = tracer ?? trace.getTracer('caduceus')
  const measures = measuresOf(meter ?? metrics.getMeter('caduceus'))
  const undo = [
    subscribeClient('call', (event) => aroundCall(event, spans, measures)),
    subscribeServer('work', (event) => aroundWork(event, spans, measures)),
    subscribeClient('state', ({ client, phase }) => {
      if (phase === 'ready') measures.connections.add(1, { 'caduceus.client': client })
    }),
    subscribeServer('session', ({ server, type }) => {
      measures.sessions.add(type === 'ended' ? -1 : 1, { 'caduceus.server': server })
    }),
    subscribe('progress', ({ restarted, supervisor }) => {
      if (restarted) measures.restarts.add(1, { 'caduceus.supervisor': supervisor })
    }),
    subscribe('crash', ({ during }) => measures.crashes.add(1, { 'caduceus.during': during })),
    subscribe('blocked', ({ ms }) => measures.blocked.record(ms / 1_000)),
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

function measuresOf(meter: Meter) {
  const seconds = { unit: 's', advice: { explicitBucketBoundaries: boundaries } }
  return {
    client: meter.createHistogram('mcp.client.operation.duration', seconds),
    server: meter.createHistogram('mcp.server.operation.duration', seconds),
    blocked: meter.createHistogram('caduceus.event_loop.blocked', seconds),
    sessions: meter.createUpDownCounter('caduceus.server.sessions', { unit: '{session}' }),
    connections: meter.createCounter('caduceus.client.connections', { unit: '{connection}' }),
    restarts: meter.createCounter('caduceus.restarts', { unit: '{restart}' }),
    crashes: meter.createCounter('caduceus.crashes', { unit: '{crash}' }),
  }
}

function aroundCall(event: AroundEvent, tracer: Tracer, { client }: Measures): void {
  const attributes = attributesOf(event)
  const span = tracer.startSpan(nameOf(event), { kind: SpanKind.CLIENT, attributes })
  const within = trace.setSpan(context.active(), span)
  propagation.inject(within, event.meta)
  const measured = stopwatch((s, more) => client.record(s, { ...measuredOf(attributes), ...more }))
  wrap(event, (run) =>
    context.with(within, run).then(
      (outcome) => {
        measured(conclude(span, resultOf(outcome)))
        return outcome
      },
      (error) => {
        measured(fail(span, error))
        throw error
      },
    ),
  )
}

function aroundWork(event: WorkEvent, tracer: Tracer, { server }: Measures): void {
  const attributes = { ...attributesOf(event), 'jsonrpc.request.id': String(event.id) }
  const parent = parentOf(event)
  const span = tracer.startSpan(nameOf(event), { kind: SpanKind.SERVER, attributes }, parent)
  const within = trace.setSpan(parent, span)
  const measured = stopwatch((s, more) => server.record(s, { ...measuredOf(attributes), ...more }))
  const giveUp = (): void => measured(fail(span, event.signal.reason, 'cancelled'))
  const done = <Response>(response: Response): Response => {
    measured(conclude(span, response))
    return response
  }
  const ended = (response: unknown): unknown => {
    event.signal.removeEventListener('abort', giveUp)
    return done(response)
  }
  const failed = (error: unknown): never => {
    measured(fail(span, error))
    throw error
  }
  wrap(event, <Result>(run: () => Result): Result => {
    try {
      const result = context.with(within, run)
      if (!isPromise(result)) return done(result)
      // work that is given up settles nothing
      event.signal.addEventListener('abort', giveUp, { once: true })
      return result.then(ended, failed) as Result
    } catch (error) {
      return failed(error)
    }
  })
}

/** What came with the request, not what its connection was opened in: many requests share that. */
function parentOf({ meta }: WorkEvent): Context {
  const bare = trace.deleteSpan(context.active())
  return propagation.extract(bare, meta)
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
    ...('client' in event ? { 'caduceus.client': event.client } : { 'caduceus.server': event.server }),
  }
}

/** Without what may have any value: uris, ids. */
function measuredOf({
  'mcp.resource.uri': _uri,
  'jsonrpc.request.id': _id,
  ...rest
}: Attributes): Attributes {
  return rest
}

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
  const told = isObject(result) ? result : answer
  const isFailed = isObject(told) && told.isError === true
  const attributes: Attributes = isFailed ? { 'error.type': 'tool_error' } : {}
  if (isFailed) span.setAttributes(attributes).setStatus({ code: SpanStatusCode.ERROR })
  span.end()
  return attributes
}

function fail(span: Span, error: unknown, type?: string): Attributes {
  const { code } = (isObject(error) || isError(error) ? error : {}) as { code?: unknown }
  const known = typeof code === 'number' || typeof code === 'string' ? String(code) : '_OTHER'
  const attributes: Attributes = {
    'error.type': type ?? known,
    ...(typeof code === 'number' && { 'rpc.response.status_code': known }),
  }
  const message = isObject(error) && typeof error.message === 'string' ? error.message : messageOf(error)
  span.setAttributes(attributes).setStatus({ code: SpanStatusCode.ERROR, message })
  span.end()
  return attributes
}

/** Tells the seconds since, once. */
function stopwatch(
  tell: (seconds: number, more: Attributes) => void,
  { now } = systemClock,
): (more: Attributes) => void {
  const began = now()
  let isOver = false
  return (more) => {
    if (!isOver) tell((now() - began) / 1_000, more)
    isOver = true
  }
}
