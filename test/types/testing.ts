import { defineServer, startClient } from 'caduceus'
import type { ClientState } from 'caduceus/client'
import type { CrashEvent, ExitReason } from 'caduceus/runtime'
import type { RequestEvent } from 'caduceus/server'
import { connect, crash, fakeClock, record, scriptedClient, scriptedServer, until } from 'caduceus/testing'
import type { ConnectionEvent } from 'caduceus/transports'

/** Compiles, or not, as the comments say; nothing of it runs. */
export async function types(): Promise<void> {
  const { client, server, transport } = await connect(defineServer({ name: 'x', version: '1' }), {
    clock: fakeClock(),
    server: { limits: { pageSize: 1 } },
    client: { timeout: 1_000 },
  })

  // events are typed by their name
  const request: RequestEvent = await until('server.request', ({ method }) => method === 'ping')
  const crashed: CrashEvent = await record('crash').next(({ name }) => name === request.method)
  const connection: ConnectionEvent = await until('transport.connection', ({ type }) => type === 'opened')
  const state: ClientState = await until(client, ({ phase }) => phase === 'ready')
  const nothing: undefined = (await until(() => state.attempt > 0, { timeout: 1 })) as undefined
  // @ts-expect-error there is no such event
  await until('server.nothing')
  // @ts-expect-error a request has no phase
  await until('server.request', ({ phase }) => phase)
  // @ts-expect-error a client is waited for in a state
  await until(client)

  const reason: ExitReason = await crash(server, { part: 'group' })
  const [session] = await server.sessions()
  if (session !== undefined) await crash(session, { error: reason })
  // @ts-expect-error there is no such part
  await crash(server, { part: 'session' })
  // @ts-expect-error an id is no process
  await crash('base')

  // @ts-expect-error the transport is what connect makes
  await connect(defineServer({ name: 'x', version: '1' }), { client: { transport } })

  const peer = scriptedServer({
    'tools/list': { tools: [] },
    'tools/call': [new Error('not yet'), ({ id, params }, own) => ({ id, params, count: own.connections })],
    'custom/late': async () => undefined,
  })
  startClient({ transport: peer.transport })
  // @ts-expect-error a text is no answer
  scriptedServer({ 'tools/list': 'none' })
  const puppet = await scriptedClient(transport, {
    'roots/list': (_, own) => ({ roots: own.methods.map((uri) => ({ uri })) }),
  })
  await puppet.initialize({ clientInfo: { name: 'x', version: '1' } })
  use(crashed, connection, nothing)
}

function use(..._values: readonly unknown[]): void {}
