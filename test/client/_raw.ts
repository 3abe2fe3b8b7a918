import {
  type Client,
  type ClientState,
  type Phase,
  startClient,
  type StartClientOptions,
} from 'caduceus/client'
import { Registry } from 'caduceus/runtime'
import { stdio, type StdioOptions } from 'caduceus/transports'
import { type Heard, heard } from '../support/heard.js'
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
