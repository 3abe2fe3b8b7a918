import * as assert from 'uvu/assert'
import type { RefOf } from 'caduceus/runtime'
import { AskError, type ToolContext } from 'caduceus/server'
import type { sessionActor } from '../../../server/sessions/session-actor.js'
import { suite } from '../../support/suite.js'
import { form, startAsking } from './_asking.js'

const test = suite('server ask refusals')

const ask = {
  form: (ctx: ToolContext) => ctx.elicit('q', form),
  url: (ctx: ToolContext) => ctx.elicit('q', { mode: 'url', message: 'm', url: 'https://a.example' }),
  sample: (ctx: ToolContext) => ctx.sample('q', { messages: [], maxTokens: 1 }),
  tools: (ctx: ToolContext) => ctx.sample('q', { messages: [], maxTokens: 1, tools: [] }),
  context: (ctx: ToolContext) =>
    ctx.sample('q', { messages: [], maxTokens: 1, includeContext: 'allServers' }),
  roots: (ctx: ToolContext) => ctx.roots('q'),
}
const gates: [keyof typeof ask, string, object, string][] = [
  ['form', '2025-11-25', {}, 'elicitation'],
  ['form', '2025-11-25', { elicitation: { url: {} } }, 'elicitation.form'],
  ['url', '2025-11-25', { elicitation: {} }, 'elicitation.url'],
  ['url', '2025-06-18', { elicitation: { url: {} } }, 'elicitation.url'],
  ['form', '2025-03-26', { elicitation: {} }, 'elicitation'],
  ['form', '2024-11-05', { elicitation: {} }, 'elicitation'],
  ['sample', '2025-11-25', {}, 'sampling'],
  ['tools', '2025-11-25', { sampling: {} }, 'sampling.tools'],
  ['context', '2025-11-25', { sampling: {} }, 'sampling.context'],
  ['roots', '2024-11-05', {}, 'roots'],
]

for (const [what, revision, capabilities, capability] of gates) {
  test(`${revision} with ${JSON.stringify(capabilities)}: ${what} is not asked`, async (t) => {
    const { client } = await startAsking(
      t,
      async (ctx) => {
        const error = await ask[what](ctx).then(
          () => undefined,
          (reason: unknown) => reason,
        )
        assert.instance(error, AskError)
        return [(error as AskError).code, (error as AskError).data]
      },
      { revision, capabilities },
    )
    assert.equal(JSON.parse(await client.text('ask')), ['MISSING_CAPABILITY', { capability }])
  })
}

test('a form that the client revision lacks is not asked', async (t) => {
  const items = { type: 'string' as const, enum: ['a', 'b'] }
  const properties = { field: { type: 'array' as const, items } }
  const several = { message: 'm', requestedSchema: { type: 'object' as const, properties } }
  const { client } = await startAsking(
    t,
    async (ctx) => {
      const error = await ctx.elicit('q', several).catch((reason: unknown) => reason)
      return error instanceof AskError && [error.code, error.message]
    },
    { revision: '2025-06-18', capabilities: { elicitation: {} } },
  )
  const [code, message] = JSON.parse(await client.text('ask'))
  assert.is(code, 'MISSING_CAPABILITY')
  assert.match(message, /no choice of several \(requestedSchema\.properties\.field\)/)
})

test('a question after the end of its request is not asked', async (t) => {
  const { server } = await startAsking(t, () => 'done')
  const [session] = await server.sessions()
  const ref = session?.ref as RefOf<typeof sessionActor>
  const asking = { of: 'ended', method: 'elicitation/create', params: form, timeout: 1_000 } as const
  const error = await ref.call('ask', asking).catch((reason: unknown) => reason)
  assert.is(error instanceof AskError && error.code, 'CLIENT_GONE')
  assert.match(String(error), /elicitation\/create: the request has ended/)
})

const noQuestions: [string, (ctx: ToolContext) => unknown][] = [
  ['no text', (ctx) => ctx.elicit('q', { message: 1 as never, requestedSchema: form.requestedSchema })],
  ['what has no JSON text', (ctx) => ctx.sample('q', { messages: [], maxTokens: 1n as never })],
  [
    'what throws when it is written out',
    (ctx) =>
      ctx.sample('q', {
        messages: [],
        maxTokens: 1,
        metadata: {
          toJSON() {
            throw new Error('written')
          },
        },
      }),
  ],
  ['an unanswered tool', (ctx) => ctx.sample('q', { maxTokens: 1, messages: [unanswered] })],
  ['no time', (ctx) => ctx.roots('q', { timeout: 0 })],
  ['no key', (ctx) => ctx.roots('')],
]
const unanswered = {
  role: 'assistant' as const,
  content: [{ type: 'tool_use' as const, id: '1', name: 'x', input: {} }],
}

for (const [what, question] of noQuestions) {
  test(`a question with ${what} fails its call unsent`, async (t) => {
    const { client, server } = await startAsking(t, question)
    const session = server.registry.whereis(`test/session ${client.sessionId}`)
    assert.match(await client.text('ask'), 'Internal error')
    assert.ok(session?.alive)
  })
}

test.run()
