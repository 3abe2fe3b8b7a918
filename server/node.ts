// What runs in each process of a server that has several: see `startServer` with a module.
import { messageOf, show } from '../runtime/base/errors.js'
import type { GivenSocket } from '../runtime/peers/give-socket.js'
import { outside } from '../runtime/faults/containment.js'
import { lazy } from '../runtime/faults/load.js'
import { defineActor } from '../runtime/process/behaviour.js'
import type { ActorContext } from '../runtime/process/context.js'
import type { ActorRef } from '../runtime/process/ref.js'
import { waitWithin } from '../runtime/time/wait.js'
import { supervisorAt } from '../runtime/supervision/supervise.js'
import { TransportError } from '../transports/base/errors.js'
import type { Binding, ServerTransport } from '../transports/contract/contract.js'
import { serveHttp } from '../transports/http/server/serve.js'
import { serveWebSocket } from '../transports/websocket/serve.js'
import { optionError, ServerError } from './base/errors.js'
import type { Bell, ClusterEngine } from './engine/engine.js'
import { LocalEngine } from './engine/local-engine.js'
import { SealedIds } from './engine/sealed-ids.js'
import { isServer, type ServerDefinition } from './definitions/define-server.js'
import { type ServerOptions, withExported } from './holdings/options.js'
import { Connections } from './processes/connections.js'
import { HostedEngine } from './processes/hosted-engine.js'
import type { Change, NodeInput, NodeRef } from './processes/node-ref.js'
import type { RedisClusterOptions } from './redis/redis.js'
import type { Server } from './server.js'
import { nodeSpec } from './server-supervisor.js'

const loadRedis = /* @__PURE__ */ lazy('../../server/redis/redis.js', () => import('./redis/redis.js'))

/** Errors that keep their class on the way between the processes. */
export const errors = { TransportError, ServerError }

interface NodeState {
  readonly input: NodeInput
  readonly server: Server
  readonly supervisor: ActorRef
  readonly engine: ClusterEngine
  readonly connections: Connections
  readonly binding: () => Binding | undefined
}

/** The actor of a node: it starts the whole server below it. */
const node = defineActor({
  name: 'node',
  trapExit: true,
  // the supervisor of the process sets the limit
  terminateTimeout: Number.POSITIVE_INFINITY,
  async init(input: NodeInput, ctx: ActorContext): Promise<NodeState> {
    const { name, host, address } = input
    const { definition, options } = await load(input.module)
    const connections = new Connections(address)
    ctx.monitor(host)
    await host.call('join', { name, ref: ctx.self as unknown as NodeRef })
    let binding: Binding | undefined
    const transport = transportOf(input, options.transport, connections)
    const watched: ServerTransport = {
      ...transport,
      async bind(scope, previous) {
        binding = await transport.bind(scope, previous)
        return binding
      },
    }
    const engine = (options.engine as ClusterEngine | undefined) ?? (await engineOf(input))
    // other programs may have processes of the same name
    const node = engine instanceof HostedEngine ? name : undefined
    const all = { ...withExported(input.options, options), engine, transport: watched }
    const spec = nodeSpec(definition, all, node)
    const started = (await spec.start(ctx)) as { readonly ref: ActorRef; readonly extra: Server }
    return {
      input,
      server: started.extra,
      supervisor: started.ref,
      engine,
      connections,
      binding: () => binding,
    }
  },
  call: {
    retire({ binding }, timeout: number, ctx) {
      const reply = ctx.defer<void>()
      const left = binding()?.retire?.(timeout) ?? Promise.resolve()
      void waitWithin<unknown>(
        { clock: ctx.clock, ms: timeout, late: () => {} },
        (resolve) => void left.then(resolve, resolve),
      ).finally(() => reply.resolve(undefined))
      return reply
    },
    /** Stops its server. Its exit tells whoever waits that it is done. */
    drain({ supervisor }, _nothing: undefined, ctx) {
      void supervisorAt(supervisor)
        .stop()
        .catch(() => {})
      return ctx.defer<void>()
    },
    sessions: ({ server }) => server.sessions(),
    changed({ server }, { uri, list }: Change, ctx) {
      const reply = ctx.defer<void>()
      const told = uri === undefined ? server.listChanged(list) : server.resourceUpdated(uri)
      told.then(
        () => reply.resolve(undefined),
        (error) => reply.reject(error),
      )
      return reply
    },
  },
  cast: {
    connection({ connections, input }, { socket, id }: GivenSocket, ctx) {
      const ended = (): void =>
        void outside(() => input.door.cast('ended', { node: ctx.self as unknown as NodeRef, id }))
      if (socket === undefined || socket.destroyed) return ended()
      socket.once('close', ended)
      connections.give(socket)
    },
    bell({ engine }, bell: Bell) {
      if (engine instanceof HostedEngine) engine.ring(bell)
    },
  },
  info: {
    // without the program nothing can be served: another process takes this one's place
    down: (_node, _down, ctx) => ctx.self.kill(),
    exit({ supervisor }, { from, reason }, ctx) {
      if (from === supervisor) ctx.stop(reason)
    },
  },
  async terminate({ supervisor }) {
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
  const { engine } = options as Partial<ServerOptions>
  if (engine instanceof LocalEngine)
    throw optionError(
      'engine',
      `${module}: options.engine: expected one that programs share: give ${engine.name} to startServer, as the processes have it together`,
    )
  return { definition, options }
}

/** Of the program, or what each process opens for itself. */
async function engineOf({ engine, host }: NodeInput): Promise<ClusterEngine> {
  if (engine.kind === 'hosted')
    return new HostedEngine(engine, host, engine.sealed && new SealedIds(engine.sealed))
  const { redis } = await loadRedis()
  return redis(engine.options as RedisClusterOptions)
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
  { transport: { name, options }, address: { port }, module }: NodeInput,
  own: ServerTransport | undefined,
  connections: Connections,
): ServerTransport {
  const transport = own ?? shared[name]?.(options)
  if (transport?.sharing === undefined)
    throw optionError('transport', 'options.transport: expected one that several processes can share')
  const asked = transport.sharing.port
  if (own !== undefined && asked !== 0 && asked !== port)
    throw optionError(
      'transport',
      `${module}: options.transport: port: expected ${port}, where its processes are served, got ${asked}: give both the same (--http ${asked} of the command)`,
    )
  return transport.sharing.serve(connections)
}
