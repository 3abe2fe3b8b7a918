import { type ActorContext, defineActor, systemWorld } from 'caduceus/runtime'
import type { Binding, HttpServeOptions, ListenScope, ServerPort, ServerTransport } from 'caduceus/transports'
import type {
  EventLogLimits,
  SharedStreams,
  StreamNews,
  StreamReport,
} from '../../../../transports/contract/shared-streams.js'
import {
  EventLog,
  type LoggedEvent,
  type StreamReader,
} from '../../../../transports/http/streams/event-log.js'
import type { Found, FollowedStream } from '../../../../transports/http/streams/followed-stream.js'
import { bindHttpSocket } from '../../../../transports/http/server/bind.js'
import { readListenerAuth } from '../../../../transports/auth/listener-auth.js'
import { readHttpOptions } from '../../../../transports/http/server/options.js'
import { SharedLog } from '../../../../transports/http/streams/shared-log.js'
import { StreamArchive } from '../../../../transports/http/streams/stream-archive.js'

/** What is on its way between processes: in order on each pipe, and moved on by the test, or by itself. */
export class Traffic {
  readonly #pipes: (() => void)[][] = []
  readonly #isManual: boolean

  constructor({ manual = false } = {}) {
    this.#isManual = manual
  }

  pipe() {
    const waiting: (() => void)[] = []
    this.#pipes.push(waiting)
    return {
      push: (fn: () => void): void => {
        waiting.push(fn)
        if (!this.#isManual) setImmediate(() => waiting.shift()?.())
      },
      /** What was on its way is lost. */
      clear: (): void => {
        waiting.length = 0
      },
    }
  }

  /** Moves one message on, of the pipe that `pick` chooses; false when there is none. */
  step(pick: (count: number) => number = () => 0): boolean {
    const busy = this.#pipes.filter(({ length }) => length > 0)
    busy[pick(busy.length)]?.shift()?.()
    return busy.length > 0
  }

  run(): void {
    while (this.step());
  }
}

export type Wire = {
  readonly streams: SharedStreams
  readonly reports: StreamReport[]
  readonly news: StreamNews[]
  /** Lets the process die, with what it has said, or before that got out. */
  die(how?: { readonly silently: boolean }): void
}

/** The way between the keeper of streams and a process; everything is copied, as between processes. */
export function connect(keeper: StreamArchive, traffic: Traffic): Wire {
  const [up, down] = [traffic.pipe(), traffic.pipe()]
  const hearing = new Set<(news: StreamNews) => void>()
  let isDead = false
  const [reports, all]: [StreamReport[], StreamNews[]] = [[], []]
  const member = keeper.join((news) => {
    const copy = structuredClone(news)
    all.push(copy)
    down.push(() => {
      for (const fn of hearing) fn(copy)
    })
  })
  return {
    reports,
    news: all,
    streams: {
      send(report) {
        if (isDead) return
        const copy = structuredClone(report)
        reports.push(copy)
        up.push(() => member.receive(copy))
      },
      receive(fn) {
        hearing.add(fn)
        return () => hearing.delete(fn)
      },
    },
    die({ silently } = { silently: false }) {
      isDead = true
      hearing.clear()
      if (silently) up.clear()
      up.push(() => member.gone())
    },
  }
}

export const roomy: EventLogLimits = {
  maxEvents: 100,
  maxBytes: 100_000,
  maxTotalBytes: 1_000_000,
  maxAge: 1_000,
  maxStreams: 50,
}

/** Logs of several processes, their archive, and the traffic between them. */
export function startLogs(
  count: number,
  limits: Partial<EventLogLimits> = {},
  traffic = new Traffic({ manual: true }),
) {
  let time = 0
  const now = () => time
  const all = { ...roomy, ...limits }
  const archive = new StreamArchive(all, now)
  const start = () => {
    const wire = connect(archive, traffic)
    const log = new EventLog(all, { ...systemWorld, now })
    return { ...wire, log, shared: new SharedLog(log, wire.streams) }
  }
  const processes = Array.from({ length: count }, start)
  traffic.run()
  return {
    archive,
    traffic,
    processes,
    start,
    pass(ms: number) {
      time += ms
    },
  }
}

export type Follower = Recorder & {
  readonly stream: FollowedStream
  /** Undefined as long as nobody has said. */
  found: Found | undefined
  isLost: boolean
}

/** Takes up a stream on a process that did not begin it, with a reader that takes everything. */
export function takeUp(
  { log, shared }: { log: EventLog; shared: SharedLog },
  sessionId: string,
  id: string,
): Follower {
  const position = log.find(sessionId, id)
  if (position.type !== 'foreign') throw new Error(`${id}: ${JSON.stringify(position)}`)
  const stream = shared.follow(sessionId, position, (fn) => fn())
  const follower: Follower = Object.assign(record(), { stream, found: undefined, isLost: false })
  void stream.found.then((found) => {
    follower.found = found
    if (found.type !== 'followed') return
    stream.connect(follower)
    follower.events.push(...stream.after())
    if (stream.ended) {
      follower.concluded = true
      return
    }
    stream.start(() => {
      follower.isLost = true
    })
  })
  return follower
}

export type Recorder = StreamReader & { readonly events: LoggedEvent[]; concluded: boolean; isSlow: boolean }

/** A reader that takes everything until it is said to be slow. */
export function record(): Recorder {
  const reader: Recorder = {
    events: [],
    concluded: false,
    isSlow: false,
    ready: () => !reader.isSlow,
    write: (event) => void reader.events.push(event),
    conclude(event) {
      if (event !== undefined) reader.events.push(event)
      reader.concluded = true
    },
  }
  return reader
}

export function texts({ events }: Recorder): string[] {
  return events.map(({ data }) => data)
}

/** A transport of HTTP whose event streams may be taken up elsewhere. */
export function shareHttp(options: HttpServeOptions, streams: SharedStreams): ServerTransport {
  return {
    name: 'http',
    async bind(scope) {
      const socket = await bindHttpSocket(readHttpOptions({ port: 0, ...options }, readListenerAuth), scope)
      const { port, url } = socket
      return { port, url, start: (ctx, server, on) => socket.start(ctx, { ...server, streams }, on) }
    },
  }
}

/** A server with listeners of HTTP in several processes, as it were: one port for sessions, logs of their own. */
export function serveTwice(options: HttpServeOptions): {
  readonly transport: ServerTransport
  readonly ports: readonly number[]
} {
  const ports: number[] = []
  const traffic = new Traffic()
  const archive = new StreamArchive(roomy, Date.now)
  const transports = [1, 2].map(() => shareHttp(options, connect(archive, traffic).streams))
  const both = defineActor({
    name: 'both',
    trapExit: true,
    async init({ bindings, server, scope }: BothInput, ctx: ActorContext) {
      for (const [index, binding] of bindings.entries())
        await binding.start(ctx, server, { ...scope, name: `${scope.name} ${index}` })
    },
  })
  const transport: ServerTransport = {
    name: 'http',
    async bind(scope) {
      const bindings: Binding[] = []
      for (const one of transports) bindings.push(await one.bind(scope))
      ports.push(...bindings.map(({ port }) => Number(port)))
      return {
        url: bindings[0]?.url,
        port: bindings[0]?.port,
        start: (ctx, server, listenScope) =>
          ctx.start(both, { bindings, server, scope: listenScope }, { name: listenScope.name }),
      }
    },
  }
  return { transport, ports }
}

type BothInput = {
  readonly bindings: readonly Binding[]
  readonly server: ServerPort
  readonly scope: ListenScope
}
