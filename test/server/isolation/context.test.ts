// second tier: time
import { isDeepStrictEqual } from 'node:util'
import * as assert from 'uvu/assert'
import { field } from 'caduceus'
import { type CallOptions, type ClientOptions, subscribeClient } from 'caduceus/client'
import { handshakeRevisions } from 'caduceus/protocol'
import { defineResource, defineServer, defineTool, type ServerOptions } from 'caduceus/server'
import { connect, type Connected } from 'caduceus/testing'
import { suite, type TestContext } from '../../support/suite.js'
import useContext from './_context.js'

const test = suite('ctx of isolated handlers', { timeout: 30_000 })
const module = new URL('./_context.js', import.meta.url)
const kinds = ['thread', 'process'] as const
type Kind = (typeof kinds)[number]
const eras = {
  sessions: { revisions: handshakeRevisions },
  '2026-07-28': { revisions: ['2026-07-28'] },
  '2026-07-28, run again': { revisions: ['2026-07-28'], limits: { parked: 0 } },
} as const
const one = { threads: 1, processes: 1 }
const deeds = [
  ...['facts', 'progress', 'log', 'ask', 'together', 'state', 'assign', 'assigned', 'changes', 'steps'],
  ...['beside', 'defer', 'unawaited'],
]

for (const [era, server] of Object.entries(eras))
  for (const kind of kinds)
    test(`${kind}, ${era}: an isolated handler does what it does in place`, async (t) => {
      const place = await outcomes(t, undefined, server)
      const elsewhere = await outcomes(t, kind, server)
      for (const deed of deeds) assert.equal(elsewhere[deed], place[deed], deed)
    })

for (const kind of kinds)
  test(`${kind}: a run that ends at its question keeps its worker`, async (t) => {
    const { client } = await start(t, kind, { ...eras['2026-07-28, run again'], isolation: one })
    assert.ok(
      await sometimes(async () => {
        const where = await call(client, 'where')
        await call(client, 'ask')
        return isDeepStrictEqual(await call(client, 'where'), where)
      }),
    )
  })

for (const kind of kinds)
  test(`${kind}: a call cancelled during a question ends, and its worker goes on`, async (t) => {
    let ending = new AbortController()
    const { client } = await start(t, kind, { ...eras.sessions, isolation: one }, () => {
      ending.abort()
      return new Promise<never>(() => {})
    })
    assert.ok(
      await sometimes(async () => {
        ending = new AbortController()
        const where = await call(client, 'where')
        await call(client, 'together', { signal: ending.signal }).catch(() => {})
        return isDeepStrictEqual(await call(client, 'where'), where)
      }),
    )
  })

/** A busy machine may take longer than a handler has to end. */
async function sometimes(isSo: () => Promise<boolean>): Promise<boolean> {
  for (let attempt = 0; attempt < 10; attempt += 1) if (await isSo()) return true
  return false
}

/** What comes of each deed: the answer, and what the client is told. */
async function outcomes(
  t: TestContext,
  isolate: Kind | undefined,
  server: Omit<ServerOptions, 'transport'>,
): Promise<Record<string, unknown>> {
  const told: unknown[] = []
  const { client } = await start(t, isolate, server)
  await client.setLevel('info')
  t.after(subscribeClient('log', ({ level, logger, data }) => void told.push({ level, logger, data })))
  const all: Record<string, unknown> = {}
  for (const deed of deeds) {
    told.length = 0
    const onProgress = (progress: unknown) => void told.push(progress)
    all[deed] = { answer: await call(client, deed, { onProgress }), told: [...told] }
  }
  return all
}

async function call(client: Connected['client'], deed: string, options: CallOptions = {}): Promise<unknown> {
  return JSON.parse((await client.callTool('use_context', { deed }, options)).text)
}

async function start(
  t: TestContext,
  isolate: Kind | undefined,
  server: Omit<ServerOptions, 'transport'>,
  onElicit: ClientOptions['onElicit'] = ({ message }) => ({
    action: 'accept',
    content: { name: `${message} Ada` },
  }),
): Promise<Connected> {
  const input = { deed: field.string() }
  const named = { name: 'use_context', input }
  const tool =
    isolate === undefined
      ? defineTool({ ...named, run: useContext })
      : defineTool({ ...named, isolate, module })
  const resource = defineResource({ name: 'a', uri: 'test://a', read: () => 'a' })
  const definition = defineServer({
    name: 'test',
    version: '1',
    tools: [tool],
    resources: [resource],
    logging: true,
  })
  const pair = await connect(definition, {
    server,
    client: {
      era: 'auto',
      onElicit,
      onSample: () => ({ role: 'assistant', content: { type: 'text', text: 'yes' }, model: 'm' }),
      roots: [{ uri: 'file:///a' }],
    },
  })
  t.after(() => pair.close())
  return pair
}

test.run()
