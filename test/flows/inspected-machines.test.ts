import type { InspectionEvent } from 'xstate'
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { connect, connectionMachine, crash, sessionMachine, until } from 'caduceus/testing'
import { http, serveHttp } from 'caduceus/transports'
import { suite } from '../support/suite.js'

const test = suite('machines, inspected')
const tools = { ok: defineTool({ run: () => 'ok' }) }
const definition = defineServer({ name: 'shop', version: '1', tools })

/** Whose events were heard, and the values of their snapshots, without repetitions. */
function recorder() {
  const events: InspectionEvent[] = []
  const values = (): Record<string, unknown[]> => {
    const all: Record<string, unknown[]> = {}
    for (const event of events) {
      if (event.type !== '@xstate.snapshot') continue
      const { id, sessionId } = event.actorRef as unknown as { id: string; sessionId: string }
      const { value } = event.snapshot as unknown as { value: unknown }
      const seen = all[`${id} ${sessionId}`] ?? []
      all[`${id} ${sessionId}`] = seen
      if (seen.at(-1) !== value) seen.push(value)
    }
    return all
  }
  return { events, values, inspect: (event: InspectionEvent) => void events.push(event) }
}

test('the machines of client and session are inspected from start to end', async (t) => {
  const [ofClient, ofServer] = [recorder(), recorder()]
  const server = await startServer(definition, {
    transport: serveHttp({ port: 0 }),
    inspect: ofServer.inspect,
    logger: false,
  })
  t.after(() => server.stop())
  const client = startClient({
    name: 'buyer',
    transport: http(server.url ?? '', { headers: { 'x-key': 'a secret' } }),
    era: 'handshake',
    inspect: { next: ofClient.inspect },
    logger: false,
  })
  await client.callTool('ok')
  const [session] = await server.sessions()
  await client.close()
  await until(async () => (await server.sessions()).length === 0)
  const [[name, phases] = []] = Object.entries(ofClient.values())
  assert.match(name ?? '', /^buyer x:\d+$/)
  assert.equal(phases?.slice(0, 4), ['idle', 'connecting', 'initializing', 'ready'])
  const [[id, life] = []] = Object.entries(ofServer.values())
  assert.match(id ?? '', /^session \d+ x:\d+$/)
  assert.equal(life, ['initializing', 'ready', 'closed'])
  // what may be shown to people has no secrets
  for (const event of [...ofClient.events, ...ofServer.events]) {
    const { actorRef: _live, rootId: _root, ...told } = event as InspectionEvent & { rootId?: unknown }
    const text = JSON.stringify(told, (_key, value: unknown) => (value === told ? value : plain(value)))
    assert.not.ok(text.includes('a secret'))
    assert.not.ok(text.includes(session?.id ?? 'no session'))
  }
})

/** A snapshot, without the machine that it knows. */
function plain(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'machine' in value && 'toJSON' in value
    ? (value as { toJSON(): unknown }).toJSON()
    : value
}

test('a restored session has its own machine; a throwing inspector harms nothing', async (t) => {
  const { values, inspect } = recorder()
  const warnings: string[] = []
  const warned = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', warned)
  t.after(() => process.off('warning', warned))
  const broken = (): never => {
    throw new Error('a broken inspector')
  }
  await using pair = await connect(definition, {
    server: { inspect },
    client: { era: 'handshake', inspect: broken },
  })
  assert.is((await pair.client.callTool('ok')).text, 'ok')
  const [session] = await pair.server.sessions()
  if (session === undefined) throw new Error('no session')
  await crash(session)
  assert.is((await pair.client.callTool('ok')).text, 'ok')
  assert.equal(Object.values(values()), [
    ['initializing', 'ready', 'closed'],
    ['initializing', 'ready'],
  ])
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok(warnings.some((text) => text.includes('a broken inspector')))
})

test('both machines can be explored without a server: each event has a known target', () => {
  for (const machine of [connectionMachine, sessionMachine])
    for (const state of Object.values(machine.states))
      for (const transitions of state.transitions.values())
        for (const { target } of transitions)
          for (const { key } of target ?? []) assert.ok(Object.hasOwn(machine.states, key), key)
})

test('a wrong inspector is refused in the caller', async () => {
  const wrong = { next: 5 } as never
  const refused = await startServer(definition, {
    transport: serveHttp({ port: 0 }),
    inspect: wrong,
  }).catch((error: Error) => error.message)
  assert.match(String(refused), /inspect: expected a function, or an object with next/)
  assert.throws(
    () => startClient({ transport: http('http://127.0.0.1:1/mcp'), inspect: wrong }),
    /inspect: expected a function, or an object with next/,
  )
})

test.run()
