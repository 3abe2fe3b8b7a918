import * as assert from 'uvu/assert'
import { subscribeClient } from '../../../client/index.js'
import { field } from '../../../index.js'
import { handshakeRevisions } from '../../../protocol/dialects/versions.js'
import { defineResource } from '../../../server/definitions/define-resource.js'
import { defineServer } from '../../../server/definitions/define-server.js'
import { defineTool } from '../../../server/definitions/define-tool.js'
import type { ServerOptions } from '../../../server/holdings/options.js'
import { connect } from '../../../testing.js'
import { suite, type TestContext } from '../../support/suite.js'
import useContext from './_context.js'

const test = suite('ctx of isolated handlers', { timeout: 30_000 })
const module = new URL('./_context.js', import.meta.url)
const kinds = ['thread', 'process'] as const
type Kind = (typeof kinds)[number]
const eras = {
  sessions: { revisions: handshakeRevisions },
  '2026-07-28': { revisions: ['2026-07-28'] },
  '2026-07-28, run again': { revisions: ['2026-07-28'], parking: false },
} as const
const deeds = [
  ...['facts', 'progress', 'log', 'ask', 'together', 'state', 'assign', 'assigned', 'changes', 'steps'],
  ...['beside', 'defer', 'unawaited'],
]

for (const [era, server] of Object.entries(eras))
  for (const kind of kinds)
    test(`${kind}, ${era}: a handler does there what it does in place`, async (t) => {
      const place = await outcomes(t, undefined, server)
      const elsewhere = await outcomes(t, kind, server)
      for (const deed of deeds) assert.equal(elsewhere[deed], place[deed], deed)
    })

/** What comes of each deed: the answer, and what the client is told. */
async function outcomes(
  t: TestContext,
  isolate: Kind | undefined,
  server: Omit<ServerOptions, 'transport'>,
): Promise<Record<string, unknown>> {
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
  const told: unknown[] = []
  const pair = await connect(definition, {
    server,
    client: {
      era: 'auto',
      onElicit: ({ message }) => ({ action: 'accept', content: { name: `${message} Ada` } }),
      onSample: () => ({ role: 'assistant', content: { type: 'text', text: 'yes' }, model: 'm' }),
      roots: [{ uri: 'file:///a' }],
    },
  })
  t.after(() => pair.close())
  await pair.client.setLevel('info')
  t.after(subscribeClient('log', ({ level, logger, data }) => void told.push({ level, logger, data })))
  const all: Record<string, unknown> = {}
  for (const deed of deeds) {
    told.length = 0
    const onProgress = (progress: unknown) => void told.push(progress)
    const { text } = await pair.client.callTool('use_context', { deed }, { onProgress })
    all[deed] = { answer: JSON.parse(text), told: [...told] }
  }
  return all
}

test.run()
