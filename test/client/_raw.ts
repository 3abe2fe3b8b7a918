import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import {
  type Client,
  type ClientState,
  type Phase,
  startClient,
  type StartClientOptions,
} from 'caduceus/client'
import { Registry } from 'caduceus/runtime'
import { type ClientTransport, stdio, type StdioOptions } from 'caduceus/transports'
import { tcp } from '../examples/tcp-transport.js'
import { type Heard, heard } from '../support/heard.js'
import { createRawServer, type RawOptions, usual } from '../support/raw-answers.mjs'
import { inRoot } from '../support/root.js'
import type { TestContext } from '../support/suite.js'

/** A client under test, with what can be seen of it from outside. */
export type Watched = {
  readonly client: Client
  /** Every state it told. */
  readonly states: Heard<ClientState>
  /** What the raw server said on standard error: `got <method> <tool>`. */
  readonly said: Heard<string>
  /** Ends one of its two actors, as a bug in it would. */
  kill(which: 'client' | 'transport'): void
  phase(phase: Phase): Promise<ClientState>
}

/** Where the raw server lives. */
export const rawServer = inRoot('test', 'support', 'raw-server.mjs')

/** The transport to a raw server. */
export function raw(args: readonly string[] = [], options: Partial<StdioOptions> = {}) {
  return stdio({ command: process.execPath, args: [rawServer, ...args], stopTimeout: 100, ...options })
}

let near = 0

/**
 * The transport to a raw server in this process, each connection to one of its own, over a real socket: for what
 * has nothing to do with programs, as each of them costs a tenth of a second. It knows no tools that need one, such
 * as `pid`; `who` tells it from others.
 */
export function rawNear(
  options: Partial<RawOptions> = {},
  say: (line: string) => void = () => {},
): ClientTransport {
  return {
    name: 'near',
    async connect(events, scope) {
      const listener = createServer({ noDelay: true }, (socket) => {
        listener.close()
        answerNear(socket, { ...usual, ...options }, say)
      })
      scope.own(() => void listener.close())
      await once(listener.listen(0, '127.0.0.1'), 'listening')
      return tcp({ port: (listener.address() as AddressInfo).port }).connect(events, scope)
    },
  }
}

function answerNear(socket: Socket, options: RawOptions, say: (line: string) => void): void {
  near += 1
  const name = `near ${near}`
  const take = createRawServer(options, {
    write: (text, done) => socket.write(text, done),
    say,
    exit: () => socket.destroy(),
    who: () => name,
  })
  socket.on('error', () => {}) // the client may go at any time
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  })
}

/** Starts a client of a raw server in this process, see `rawNear`. */
export function watchNear(
  t: TestContext,
  options: Partial<StartClientOptions> = {},
  server: Partial<RawOptions> = {},
): Watched {
  const said = heard<string>()
  return { ...watch(t, { transport: rawNear(server, said.add), ...options }), said }
}

/** Starts a client, by default of the raw server; it is closed with the test. */
export function watch(
  t: TestContext,
  options: Partial<StartClientOptions> = {},
  args: readonly string[] = [],
): Watched {
  const registry = new Registry()
  const said = heard<string>()
  const client = startClient({
    transport: raw(args, { stderr: said.add }),
    registry,
    logger: false,
    backoff: { base: 1, cap: 1 },
    ...options,
  })
  t.after(() => client.close())
  const states = heard<ClientState>()
  client.onState(states.add)
  const names = { client: `client ${client.name}`, transport: `transport of client ${client.name}` }
  return {
    client,
    states,
    said,
    kill: (which) => registry.whereis(names[which])?.kill(),
    phase: (phase) => states.next((state) => state.phase === phase),
  }
}

/** The error that a promise rejects with. */
export async function rejection(
  promise: Promise<unknown>,
): Promise<Error & { code: unknown; data: unknown; retryable: boolean }> {
  try {
    await promise
  } catch (error) {
    return error as Error & { code: unknown; data: unknown; retryable: boolean }
  }
  throw new Error('expected a rejection')
}
