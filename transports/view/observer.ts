import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import { handled } from '../../runtime/base/promise.js'
import { defineActor } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { type ActorRef, type ProcessRef, processOf } from '../../runtime/process/ref.js'
import type { TimerRef } from '../../runtime/process/timers.js'
import { TreeWatcher } from '../../runtime/watch/tree-watcher.js'
import { trace } from '../../runtime/watch/sys.js'
import { type Happening, Timeline } from '../../runtime/watch/timeline.js'
import { contained } from '../base/contained.js'
import { listen } from '../http/listen/listening.js'
import { streamHeaders } from '../http/listen/response.js'
import { listenAtPath } from '../shared/local-socket.js'
import { type Act, createHandler } from './handler.js'
import { watchClients } from './client-news.js'
import type { Changes, Health, Picture, Traced } from './picture.js'

interface ObserverSettings {
  readonly name: string
  readonly actions: boolean
  readonly secret: string
  /** The port is set once it is known: the same after a restart. */
  readonly place: { port: number | undefined; readonly path: string | undefined }
  /** The numbers of trees that are not shown: its own. */
  readonly leaveOut: Set<number>
}

/** Milliseconds between two looks; more where a look takes long. */
const pause = 250
/** A look takes at most this part of the time. */
const share = 0.1
const mostRows = 5_000
const mostViewers = 4
/** Happenings that are told between two looks: the last ones. */
const mostHappened = 200
/** Bytes that wait for a viewer; beyond, it is sent the whole picture later instead of each change. */
const mostQueued = 1_048_576
/** Limits of one trace: milliseconds, and messages between two updates. */
const traceTime = 30_000
const tracedAtOnce = 50
const maxConnections = 16

interface Viewer {
  readonly response: ServerResponse
  /** Whether it needs the whole picture next. */
  isBehind: boolean
}

interface Observer {
  readonly settings: ObserverSettings
  readonly watcher: TreeWatcher
  readonly timeline: Timeline
  readonly viewers: Set<Viewer>
  /** When the next look is due, by the clock. */
  due: number
  timer: TimerRef | undefined
  loop: EventLoopUtilization
  happened: Happening[]
  traced: Traced[]
  /** Ends the trace that runs. */
  endTrace: (() => void) | undefined
}

type Handlers<Input, Answer> = (state: Observer, input: Input, ctx: ActorContext) => Answer
type Self = ActorRef<
  { act: Handlers<Act, string> },
  { look: Handlers<ServerResponse, void>; left: Handlers<Viewer, void> }
>

/** Answers those who look, and reads the trees only while somebody does. */
export const observer = defineActor({
  name: 'observer',
  // anybody who can connect may cause it: it costs the request, not the view
  stray: 'report',
  async init(settings: ObserverSettings, ctx): Promise<Observer> {
    const { world } = ctx
    const self = ctx.self as Self
    const { leaveOut } = settings
    leaveOut.add(processOf(self).tree.id)
    const happened: Happening[] = []
    const viewers = new Set<Viewer>()
    const timeline = new Timeline(world.date, leaveOut, (happening) => {
      if (viewers.size === 0) return
      happened.push(happening)
      if (happened.length > mostHappened) happened.shift()
    })
    ctx.own(timeline)
    ctx.own(watchClients(timeline))
    const parts = {
      look: (response: ServerResponse) => void self.cast('look', response),
      act: (act: Act) => self.call('act', act),
      actions: settings.actions,
    }
    const { place, secret } = settings
    if (place.port !== undefined)
      place.port = await openPage(place.port, createHandler({ ...parts, secret }), ctx)
    if (place.path !== undefined) await openSocket(place.path, createHandler(parts), ctx)
    return {
      ...{
        settings,
        watcher: new TreeWatcher({ world, timeline, leaveOut, most: mostRows, nodes: true }),
        timeline,
        viewers,
        happened,
      },
      ...{
        due: 0,
        timer: undefined,
        loop: performance.eventLoopUtilization(),
        traced: [],
        endTrace: undefined,
      },
    }
  },
  call: {
    /** Answers what was done, in words. */
    act(state: Observer, { key, what }: Act, ctx): string {
      const { watcher } = state
      const name = watcher.rows.get(key)?.name
      if (what === 'kill' || what === 'restart')
        return ends[watcher.end(key, what)](name ?? 'a process', what)
      const ref = watcher.find(key)
      if (ref === undefined) return `no process of this thread runs there: ${what} it where it is`
      if (what === 'reconnect') return reconnect(ref)
      if (!ref.alive) return ends.gone()
      if (processOf(ref).kind === 'task') return `${ref.name} is a task: it gets no messages`
      startTrace(state, ref, key, ctx)
      return `${ref.name}: trace`
    },
  },
  cast: {
    look(state: Observer, response: ServerResponse, ctx) {
      // gone before its turn came
      if (response.destroyed || response.socket?.destroyed !== false) return
      if (state.viewers.size >= mostViewers) {
        response.writeHead(503, { 'retry-after': '5' }).end(`${mostViewers} look at it already\n`)
        return
      }
      const viewer: Viewer = { response, isBehind: true }
      response.on('close', () => void (ctx.self as Self).cast('left', viewer))
      response.writeHead(200, streamHeaders)
      state.viewers.add(viewer)
      if (state.viewers.size > 1) return
      state.loop = performance.eventLoopUtilization()
      lookIn(state, 0, ctx)
    },
    left(state: Observer, viewer: Viewer) {
      state.viewers.delete(viewer)
      if (state.viewers.size > 0) return
      state.timer?.cancel()
      state.endTrace?.()
      state.watcher.leave()
      state.traced = []
      state.happened.length = 0
    },
  },
  info: {
    timer(state: Observer, _payload, ctx) {
      if (state.viewers.size === 0) return
      const { now } = ctx.clock
      const began = now()
      lookAround(state, ctx)
      lookIn(state, Math.max(pause, (now() - began) / share), ctx)
    },
  },
})

/** What became of a process that was to end, in words. */
const ends = {
  done: (name: string, what: string) => `${name}: ${what}`,
  gone: () => 'it does not run any more',
  beyond: (name: string) => `${name} runs in another node: look at that one`,
  final: (name: string) => `${name} would end for good: nobody starts it again after an end in order`,
}

function lookIn(state: Observer, ms: number, ctx: ActorContext): void {
  state.due = ctx.clock.now() + ms
  state.timer = ctx.sendAfter(ms)
}

function lookAround(state: Observer, ctx: ActorContext): void {
  const { watcher, viewers, happened, traced } = state
  const changed = watcher.look()
  const at = ctx.world.date()
  const health = healthOf(state, ctx)
  const changes: Changes = { at, ...changed, happened: [...happened], traced, health }
  const some = `event: changes\ndata: ${JSON.stringify(changes)}\n\n`
  let all: string | undefined
  for (const viewer of viewers) {
    if (viewer.response.writableLength > mostQueued) viewer.isBehind = true
    else if (viewer.isBehind) {
      all ??= `event: picture\ndata: ${JSON.stringify(pictureOf(state, at, health))}\n\n`
      viewer.response.write(all)
      viewer.isBehind = false
    } else viewer.response.write(some)
  }
  happened.length = 0
  state.traced = []
}

function pictureOf({ settings, watcher, timeline, traced }: Observer, at: number, health: Health): Picture {
  const { name, actions } = settings
  const program = { name, pid: process.pid, node: process.version, actions }
  return { program, at, rows: [...watcher.rows.values()], happened: timeline.all, traced, health }
}

function healthOf(state: Observer, ctx: ActorContext): Health {
  const { rss, heapUsed } = process.memoryUsage()
  const now = performance.eventLoopUtilization()
  const { utilization } = performance.eventLoopUtilization(now, state.loop)
  state.loop = now
  const late = Math.max(0, Math.round((ctx.clock.now() - state.due) * 10) / 10)
  const busy = Math.round(utilization * 1_000) / 1_000
  return { rss, heapUsed, late, busy, uptime: Math.round(process.uptime() * 1_000) }
}

/** A client that waits, or has given up, connects now; any other process knows nothing of that. */
function reconnect(ref: ProcessRef): string {
  if (ref.name !== 'client') return `${ref.name} is no client`
  // its answer tells nothing more
  void handled((ref as ActorRef<{ reconnect: Handlers<undefined, void> }>).call('reconnect', undefined))
  return 'client: reconnect'
}

function startTrace(state: Observer, ref: Parameters<typeof trace>[0], key: number, ctx: ActorContext): void {
  state.endTrace?.()
  const { world } = ctx
  const undo = trace(ref, ({ what, kind, name }) => {
    if (state.traced.length < tracedAtOnce) state.traced.push({ key, at: world.date(), what, kind, name })
  })
  const timer = ctx.clock.setTimeout(() => state.endTrace?.(), traceTime)
  state.endTrace = () => {
    state.endTrace = undefined
    ctx.clock.clearTimeout(timer)
    undo()
  }
}

type Handler = ReturnType<typeof createHandler>

async function openPage(port: number, handler: Handler, ctx: ActorContext): Promise<number> {
  const server = serverOf(handler, ctx)
  return await listen(server, { host: '127.0.0.1', port }, ctx)
}

async function openSocket(path: string, handler: Handler, ctx: ActorContext): Promise<void> {
  const server = serverOf(handler, ctx)
  await listenAtPath(server, path, ctx)
}

/** Neither it nor its connections keep the program alive. */
function serverOf(handler: Handler, ctx: ActorContext): Server {
  const { createServer } = process.getBuiltinModule('node:http')
  const report = ctx.bind((error: unknown) => {
    throw error
  })
  const times = { headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 }
  const server = createServer(times, contained(handler, report)).unref()
  server.on('connection', (socket) => socket.unref())
  keepFew(server)
  ctx.own(() => void server.close().closeAllConnections())
  return server
}

/** Beyond `maxConnections` the oldest without a request ends: strangers who say nothing keep nobody out. */
function keepFew(server: Server): void {
  const open = new Set<Socket>()
  const quiet = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    quiet.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      quiet.delete(socket)
    })
    const [oldest] = quiet
    if (open.size > maxConnections) oldest?.destroy()
  })
  server.on('request', ({ socket }, response) => {
    quiet.delete(socket)
    response.once('close', () => socket.destroyed || quiet.add(socket))
  })
}
