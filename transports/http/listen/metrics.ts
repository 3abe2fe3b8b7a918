import { readdirSync, readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { isMethod } from '../../../protocol/messages/methods.js'
import { onChannel, subscribe } from '../../../runtime/faults/events.js'
import { version } from '../../../runtime/base/version.js'
import { Places, readRows } from '../../../runtime/watch/rows.js'
import { subscribeTransport } from '../../contract/events.js'

/** Labels of a number: few names, and few values of each. */
type Labels = Readonly<Record<string, string>>

interface Kind {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
}

const kinds = {
  caduceus_requests_total: { type: 'counter', help: 'Requests that were answered, by how.' },
  caduceus_request_duration_seconds: { type: 'histogram', help: 'From the request to its answer.' },
  caduceus_tool_calls_total: {
    type: 'counter',
    help: 'Calls of tools that the server has, by how they ended.',
  },
  caduceus_tool_call_duration_seconds: { type: 'histogram', help: 'From the call of a tool to its answer.' },
  caduceus_calls_total: { type: 'counter', help: 'Calls of clients that have ended, by how.' },
  caduceus_call_duration_seconds: { type: 'histogram', help: 'From the call to its end.' },
  caduceus_sessions: { type: 'gauge', help: 'Sessions that are open.' },
  caduceus_sessions_opened_total: { type: 'counter', help: 'Sessions that were opened, or restored.' },
  caduceus_sessions_ended_total: { type: 'counter', help: 'Sessions that have ended, by why.' },
  caduceus_client_connections_total: { type: 'counter', help: 'How often a client became ready.' },
  caduceus_crashes_total: { type: 'counter', help: 'Processes that an error ended.' },
  caduceus_restarts_total: { type: 'counter', help: 'Processes that a supervisor started again.' },
  caduceus_event_loop_blocked_seconds: { type: 'histogram', help: 'How long the event loop did not turn.' },
  caduceus_processes: { type: 'gauge', help: 'Processes that run.' },
  caduceus_mailbox_messages: { type: 'gauge', help: 'Messages that wait.' },
  caduceus_event_loop_busy_seconds_total: {
    type: 'counter',
    help: 'How long the event loop has been at work.',
  },
  caduceus_refusals_total: {
    type: 'counter',
    help: 'Requests and connections that listeners refused, by why.',
  },
  caduceus_build_info: { type: 'gauge', help: 'Always 1, with the version of the library and of Node.' },
  process_start_time_seconds: { type: 'gauge', help: 'When this program was started, since 1970.' },
  process_cpu_seconds_total: { type: 'counter', help: 'Processor time of this program, its own and for it.' },
  process_resident_memory_bytes: { type: 'gauge', help: 'Memory of this program.' },
  process_open_fds: { type: 'gauge', help: 'File descriptors that are open, where the system tells.' },
  process_max_fds: { type: 'gauge', help: 'File descriptors that may be open, where the system tells.' },
  nodejs_heap_size_used_bytes: { type: 'gauge', help: 'Of the heap of JavaScript.' },
} as const satisfies Readonly<Record<string, Kind>>

type Name = keyof typeof kinds

/** Upper ends, in seconds. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

interface Series {
  readonly labels: Labels
  value: number
  /** Of a histogram: how many were at most each of `buckets`. */
  readonly counts: number[] | undefined
  count: number
}

/** Series of one name; beyond, further ones are counted together. */
const mostSeries = 500

/** Counts what this program does, from its events, until it is disposed of; told as Prometheus reads it. */
export class Metrics implements Disposable {
  readonly #series = new Map<Name, Map<string, Series>>()
  readonly #undo: (() => void)[]
  #told = { at: Number.NEGATIVE_INFINITY, text: '' }

  constructor() {
    this.#undo = [
      onChannel('caduceus.server.request', (event) => this.#ended('request', 'server', event)),
      onChannel('caduceus.client.request', (event) => this.#ended('call', 'client', event)),
      onChannel('caduceus.server.session', (event) => this.#session(event)),
      onChannel('caduceus.client.state', ({ phase, client }) => {
        if (phase === 'ready') this.#count('caduceus_client_connections_total', { client: String(client) })
      }),
      subscribeTransport('connection', ({ type, transport, status, reason }) => {
        if (type === 'refused')
          this.#count('caduceus_refusals_total', { transport, reason: String(status ?? reason) })
      }),
      subscribe('crash', () => this.#count('caduceus_crashes_total')),
      subscribe('progress', ({ restarted }) => {
        if (restarted) this.#count('caduceus_restarts_total')
      }),
      subscribe('blocked', ({ ms }) => this.#record('caduceus_event_loop_blocked_seconds', ms / 1_000)),
    ]
  }

  [Symbol.dispose](): void {
    for (const undo of this.#undo.splice(0)) undo()
  }

  /**
   * The text format of Prometheus, version 0.0.4; made at most once in a second, as a look at all processes
   * is work.
   */
  text(): string {
    const at = performance.now()
    if (at - this.#told.at < 1_000) return this.#told.text
    this.#look()
    this.#told = { at, text: (Object.keys(kinds) as Name[]).map((name) => this.#written(name)).join('') }
    return this.#told.text
  }

  /** Sets the gauges to their current values. */
  #look(): void {
    const rows = [...readRows(new Places(), { most: 100_000, leaveOut: new Set() }).values()]
    const { rss, heapUsed } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    this.#set('caduceus_processes', rows.filter(({ process }) => process !== undefined).length)
    this.#set(
      'caduceus_mailbox_messages',
      rows.reduce((sum, { mailbox }) => sum + mailbox, 0),
    )
    // readers compute a rate: a ratio since the last scrape would depend on who scraped
    this.#set('caduceus_event_loop_busy_seconds_total', performance.eventLoopUtilization().active / 1_000)
    this.#set('caduceus_build_info', 1, { version, node: process.version })
    this.#set('process_start_time_seconds', performance.timeOrigin / 1_000)
    this.#set('process_cpu_seconds_total', (user + system) / 1_000_000)
    this.#set('process_resident_memory_bytes', rss)
    const descriptors = countDescriptors()
    if (descriptors !== undefined) {
      this.#set('process_open_fds', descriptors.open)
      if (descriptors.most !== undefined) this.#set('process_max_fds', descriptors.most)
    }
    this.#set('nodejs_heap_size_used_bytes', heapUsed)
  }

  #session({ type, ...event }: Readonly<Record<string, unknown>>): void {
    if (type === 'hibernated' || type === 'woken') return
    const server = { server: String(event.server) }
    if (type === 'ended')
      this.#count('caduceus_sessions_ended_total', { ...server, reason: String(event.reason) })
    else this.#count('caduceus_sessions_opened_total', server)
    const open = this.#seriesOf('caduceus_sessions', server)
    // those that were open before this began are not known
    open.value = Math.max(0, open.value + (type === 'ended' ? -1 : 1))
  }

  #ended(
    what: 'request' | 'call',
    whose: 'server' | 'client',
    event: Readonly<Record<string, unknown>>,
  ): void {
    const { type, method, duration, cancelled, isError, tool } = event
    if (type === 'start') return
    // a client may name any: each would be a series of its own
    const known = typeof method === 'string' && isMethod(method) ? method : 'other'
    const from = { [whose]: String(event[whose]) }
    const failed = isError === true ? 'tool_error' : 'error'
    const outcome = cancelled === true ? 'cancelled' : type === 'error' ? failed : 'ok'
    this.#count(`caduceus_${what}s_total`, { ...from, method: known, outcome })
    if (typeof tool === 'string') this.#count('caduceus_tool_calls_total', { ...from, tool, outcome })
    if (typeof duration !== 'number') return
    this.#record(`caduceus_${what}_duration_seconds`, duration / 1_000, { ...from, method: known })
    if (typeof tool === 'string')
      this.#record('caduceus_tool_call_duration_seconds', duration / 1_000, { ...from, tool })
  }

  #count(name: Name, labels: Labels = {}): void {
    this.#seriesOf(name, labels).value += 1
  }

  #set(name: Name, value: number, labels: Labels = {}): void {
    this.#seriesOf(name, labels).value = value
  }

  #record(name: Name, seconds: number, labels: Labels = {}): void {
    const series = this.#seriesOf(name, labels)
    series.value += seconds
    series.count += 1
    buckets.forEach((end, i) => {
      if (seconds <= end && series.counts !== undefined) series.counts[i] = (series.counts[i] ?? 0) + 1
    })
  }

  #seriesOf(name: Name, given: Labels): Series {
    const all = this.#series.get(name) ?? new Map<string, Series>()
    this.#series.set(name, all)
    const known = all.get(textOf(given))
    if (known !== undefined) return known
    const isFull = all.size >= mostSeries
    const labels = isFull ? Object.fromEntries(Object.keys(given).map((label) => [label, 'other'])) : given
    const counts = kinds[name].type === 'histogram' ? buckets.map(() => 0) : undefined
    const series = all.get(textOf(labels)) ?? { labels, value: 0, counts, count: 0 }
    all.set(textOf(labels), series)
    return series
  }

  #written(name: Name): string {
    const { type, help } = kinds[name]
    const lines = [...(this.#series.get(name)?.values() ?? [])].flatMap((series) => linesOf(name, series))
    return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n')
  }
}

function linesOf(name: Name, { labels, value, counts, count }: Series): string[] {
  if (counts === undefined) return [`${name}${textOf(labels)} ${value}`]
  const ends = [...buckets.map(String), '+Inf']
  return [
    ...ends.map((le, i) => `${name}_bucket${textOf({ ...labels, le })} ${counts[i] ?? count}`),
    `${name}_sum${textOf(labels)} ${value}`,
    `${name}_count${textOf(labels)} ${count}`,
  ]
}

function textOf(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(value: string): string {
  return value.slice(0, 200).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

/** The file descriptors of this program, where `/proc` has them (Linux). */
function countDescriptors(): { readonly open: number; readonly most: number | undefined } | undefined {
  try {
    const open = readdirSync('/proc/self/fd').length
    const [, most] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return { open, most: most === undefined ? undefined : Number(most) }
  } catch {
    return undefined // another system, or no descriptor is free to look with
  }
}
