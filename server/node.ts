// What runs in each process of a server that has several: see `startServer` with a module.
import { messageOf, show } from '../runtime/base/errors.js'
import type { GivenSocket } from '../runtime/peers/give-socket.js'
import { outside } from '../runtime/faults/containment.js'
import { defineActor } from '../runtime/process/behaviour.js'
import type { ActorContext } from '../runtime/process/context.js'
import type { ActorRef } from '../runtime/process/ref.js'
import { waitWithin } from '../runtime/time/wait.js'
import { supervisorAt } from '../runtime/supervision/supervise.js'
import { TransportError } from '../transports/base/errors.js'
import type { Binding, ServerTransport } from '../transports/contract/contract.js'
import type { StreamNews, StreamReport } from '../transports/contract/shared-streams.js'
import { serveHttp } from '../transports/http/server/serve.js'
import { serveWebSocket } from '../transports/websocket/serve.js'
import { optionError, ServerError } from './base/errors.js'
import type { News } from './cluster/cluster.js'
import type { Envelope } from './cluster/envelope.js'
import { isServer, type ServerDefinition } from './definitions/define-server.js'
import type { ServerOptions } from './holdings/options.js'
import { Connections } from './processes/connections.js'
import { KeptStreams } from './processes/kept-streams.js'
import { NodeCluster } from './processes/node-cluster.js'
import type { NodeInput, NodeRef } from './processes/node-ref.js'
import type { Server } from './server.js'
import { nodeSpec } from './server-supervisor.js'

/** Errors that keep their class on the way between the processes. */
export const errors = { TransportError, ServerError }

interface Node {
  readonly input: NodeInput
  readonly server: Server
  readonly supervisor: ActorRef
  readonly cluster: NodeCluster
  readonly connections: Connections
  readonly binding: () => Binding | undefined
}

/** The actor of a node: it starts the whole server below it, and hears what comes from the other nodes. */
const node = defineActor({
  name: 'node',
  trapExit: true,
  // the supervisor of the process sets the limit
  terminateTimeout: Number.POSITIVE_INFINITY,
  async init(input: NodeInput, ctx: ActorContext): Promise<Node> {
    const { definition, options } = await load(input.module)
    // also of a listener that has ended
    const report = (told: StreamReport): boolean =>
      outside(() => input.hub.cast('report', { from: input.name, told }))
    const connections = new Connections(input.address)
    ctx.monitor(input.hub)
    const streams = input.streams ? new KeptStreams(report) : undefined
    const cluster = new NodeCluster(input.name, input.hub, input.secrets, streams)
    let binding: Binding | undefined
    const transport = transportOf(input, options.transport, connections)
    const watched: ServerTransport = {
      ...transport,
      async bind(scope, previous) {
        binding = await transport.bind(scope, previous)
        return binding
      },
    }
    const spec = nodeSpec(definition, { ...input.options, ...options, transport: watched }, cluster)
    const started = (await spec.start(ctx)) as { readonly ref: ActorRef; readonly extra: Server }
    return {
      input,
      server: started.extra,
      supervisor: started.ref,
      cluster,
      connections,
      binding: () => binding,
    }
  },
  call: {
    retire({ cluster, binding }, timeout: number, ctx) {
      const reply = ctx.defer<void>()
      const clock = ctx.clock
      const over = new AbortController()
      const left = Promise.all([cluster.inbox?.retire(over.signal), binding()?.retire?.()])
      void waitWithin<unknown>(
        { clock, ms: timeout, late: () => {} },
        (resolve) => void left.then(resolve, resolve),
      )
        .finally(() => over.abort())
        .finally(() => reply.resolve(undefined))
      return reply
    },
    /** Begins to stop: resolves when its connections are over. Its sessions go on, for those of the others. */
    drain({ cluster, supervisor }, _nothing: undefined, ctx) {
      const reply = ctx.defer<void>()
      void cluster.hold().then(() => reply.resolve(undefined))
      // whoever waits for the reply is told when this node ends
      supervisorAt(supervisor)
        .stop()
        .catch(() => {})
      return reply
    },
    /** The others send nothing any more: resolves when all that they have sent is answered. */
    settled({ cluster }, _nothing: undefined, ctx) {
      const reply = ctx.defer<void>()
      // what comes meanwhile is served: an answer that is owed may need it
      const settled = cluster.inbox?.settled() ?? Promise.resolve()
      void settled.finally(() => reply.resolve(undefined))
      return reply
    },
    sessions: ({ server }) => server.sessions(),
  },
  cast: {
    connection({ connections, input }, { socket, id }: GivenSocket, ctx) {
      const ended = (): void =>
        void outside(() => input.door.cast('ended', { node: ctx.self as unknown as NodeRef, id }))
      if (socket === undefined || socket.destroyed) return ended()
      socket.once('close', ended)
      connections.give(socket)
    },
    streams: ({ cluster }, news: StreamNews) => cluster.streams?.hear(news),
    envelope({ cluster }, { from, envelope }: { from: string; envelope: Envelope }) {
      if (cluster.inbox !== undefined) return cluster.inbox.receive(from, envelope)
      if (envelope.type !== 'ask') return
      const problem = {
        floor: 'transport',
        code: 'SEND_FAILED',
        message: 'the server is starting again',
      } as const
      const failed = { type: 'error', ...problem, retryable: true, data: undefined } as const
      cluster.send(from, { type: 'failed', id: envelope.id, problem: failed })
    },
    hear: ({ cluster }, news: News) => cluster.inbox?.hear(news),
    ended: ({ cluster }, name: string) => cluster.ended(name),
    gone: ({ cluster }, name: string) => cluster.gone(name),
  },
  info: {
    // without the hub nothing can be served: another process takes this one's place
    down: (_node, _down, ctx) => ctx.self.kill(),
    exit({ supervisor }, { from, reason }, ctx) {
      if (from === supervisor) ctx.stop(reason)
    },
  },
  async terminate({ cluster, supervisor }) {
    cluster.letGo()
    if (supervisor.alive) await supervisorAt(supervisor).stop()
  },
})

export { node as default }

async function load(
  module: string,
): Promise<{ definition: ServerDefinition; options: Partial<ServerOptions> }> {
  const { options = {}, ...others } = await exportsOf(module)
  const servers = Object.values(others).filter(isServer)
  const definition = servers.length === 1 ? servers[0] : others.default
  if (!isServer(definition)) {
    const problem = `${module}: expected the default or only export to be what defineServer returns, got ${show(definition)}`
    throw new ServerError('BAD_DEFINITION', problem, { data: { field: 'definition' } })
  }
  if (typeof options !== 'object' || options === null)
    throw optionError('options', `${module}: options: expected an object, got ${show(options)}`)
  if ('engine' in options)
    throw optionError(
      'engine',
      `${module}: options.engine: expected nothing, as the program that starts the processes keeps the sessions`,
    )
  return { definition, options }
}

/** What a module exports, also one that a compiler has made CommonJS of: Node takes that for the default. */
async function exportsOf(module: string): Promise<Record<string, unknown>> {
  let loaded: Record<string, unknown>
  try {
    loaded = await import(module)
  } catch (error) {
    // V8 says nothing of the place of a syntax error
    throw new ServerError('BAD_DEFINITION', `${module} cannot be loaded: ${messageOf(error)}`, {
      cause: error,
      data: { field: 'definition' },
    })
  }
  const compiled = loaded.default as Record<string, unknown> | null | undefined
  return compiled?.__esModule === true ? compiled : loaded
}

/** Transports that can be made of their names and options. */
const shared: { readonly [name: string]: ((options: object) => ServerTransport) | undefined } = {
  http: serveHttp,
  websocket: serveWebSocket,
}

/** The module's own transport, for functions such as `authenticate`, or one of the options that came over. */
function transportOf(
  { transport: { name, options } }: NodeInput,
  own: ServerTransport | undefined,
  connections: Connections,
): ServerTransport {
  const transport = own ?? shared[name]?.(options)
  if (transport?.sharing === undefined)
    throw optionError('transport', 'options.transport: expected one that several processes can share')
  return transport.sharing.serve(connections)
}
