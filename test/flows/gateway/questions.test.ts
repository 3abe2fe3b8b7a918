import * as assert from 'uvu/assert'
import { type Client, startClient } from 'caduceus/client'
import { McpError, type Revision } from 'caduceus/protocol'
import { defineServer, defineTool, gateway } from 'caduceus/server'
import { connect, type Connected, type ConnectOptions } from 'caduceus/testing'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('gateway: questions')

/** Each question is asked while the call is under way; how often the tool began is told, too. */
function asking(): ReturnType<typeof defineServer> {
  let began = 0
  return defineServer({
    name: 'asking',
    version: '1.0.0',
    tools: {
      ask: defineTool({
        async run(_args, ctx) {
          began += 1
          const { action, content } = await ctx.elicit('name', {
            message: 'Who are you?',
            requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
          })
          return `${action} ${content?.name} ${began}`
        },
      }),
      sample: defineTool({
        async run(_args, ctx) {
          const { content } = await ctx.sample('poem', {
            messages: [{ role: 'user', content: { type: 'text', text: 'A poem.' } }],
            maxTokens: 10,
          })
          return JSON.stringify(content)
        },
      }),
      roots: defineTool({
        run: async (_args, ctx) => (await ctx.roots('where')).map(({ uri }) => uri).join(),
      }),
    },
  })
}

const answers: NonNullable<ConnectOptions['client']> = {
  onElicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
  onSample: () => ({ model: 'm', role: 'assistant', content: { type: 'text', text: 'Roses.' } }),
  roots: [{ uri: 'file:///home' }],
}

const handshakes: readonly Revision[] = ['2025-11-25', '2025-06-18']

for (const up of ['2026-07-28', ...handshakes] as Revision[])
  for (const down of ['2026-07-28', ...handshakes] as Revision[])
    test(`a server of ${up} asks a client of ${down}`, async (t) => {
      const { client } = await through(t, up, down)
      assert.is((await client.callTool('asking__ask')).text, 'accept Ada 1')
      assert.match((await client.callTool('asking__sample')).text, /Roses/)
      assert.is((await client.callTool('asking__roots')).text, 'file:///home')
    })

test('a client without elicitation is not asked, and its call says so', async (t) => {
  const upstream = await connect(asking(), { server: { revisions: ['2025-11-25'] } })
  t.after(() => upstream.close())
  const plan = gateway({
    asking: ({ answers }) => startClient({ ...answers(), transport: upstream.transport }),
  })
  const pair = await connect(plan)
  t.after(() => pair.close())
  const asked = await pair.client.callTool('asking__ask').catch((error: unknown) => error)
  assert.ok(asked instanceof McpError || (asked as { isError?: boolean }).isError === true, String(asked))
})

for (const down of ['2026-07-28', '2025-11-25'] as Revision[])
  for (const order of ['the asking one', 'the other one'])
    test(`of two calls of a client of ${down} ${order} begins first: a question is answered`, async (t) => {
      const gates = { asks: gate(), quick: gate(), answer: gate() }
      const definition = defineServer({
        name: 'up',
        version: '1.0.0',
        tools: {
          ask: defineTool({
            async run(_args, ctx) {
              await gates.asks.opened
              const { action } = await ctx.elicit('ok', { message: 'Sure?', requestedSchema: noFields })
              return action
            },
          }),
          quick: defineTool({
            async run() {
              await gates.quick.opened
              return 'quick'
            },
          }),
        },
      })
      const upstream = await connect(definition, { server: { revisions: ['2025-11-25'] } })
      t.after(() => upstream.close())
      const plan = gateway({
        up: ({ answers: give }) => startClient({ ...give(), transport: upstream.transport }),
      })
      let asked = 0
      const onElicit = async (): Promise<{ action: 'accept'; content: object }> => {
        asked += 1
        gates.quick.open()
        // the first time until the other call has ended
        if (asked === 1) await gates.answer.opened
        return { action: 'accept', content: {} }
      }
      const { client, close } = await connect(plan, {
        client: { onElicit: onElicit as never, ...(down === '2025-11-25' && { era: 'handshake' }) },
      })
      t.after(close)
      const begin = { ask: () => client.callTool('up__ask'), quick: () => client.callTool('up__quick') }
      const first = order === 'the asking one' ? ['ask', 'quick'] : ['quick', 'ask']
      const [one, two] = first.map((name) => begin[name as 'ask'])
      const calls = [one?.(), two?.()]
      await client.listTools({ fresh: true })
      gates.asks.open()
      const quick = await calls[first.indexOf('quick')]
      assert.is(quick?.text, 'quick')
      gates.answer.open()
      assert.is((await calls[first.indexOf('ask')])?.text, 'accept')
    })

const noFields = { type: 'object', properties: {} } as const

function gate() {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

test('a shared server cannot elicit while calls of several clients are open', async (t) => {
  let release: () => void = () => {}
  const both = new Promise<void>((resolve) => {
    release = resolve
  })
  let began = 0
  const upstream = await connect(
    defineServer({
      name: 'asking',
      version: '1.0.0',
      tools: {
        ask: defineTool({
          async run(_args, ctx) {
            began += 1
            if (began === 2) release()
            await both
            const { action } = await ctx.elicit('ok', {
              message: 'Sure?',
              requestedSchema: { type: 'object', properties: {} },
            })
            return action
          },
        }),
      },
    }),
    { server: { revisions: ['2025-11-25'] } },
  )
  t.after(() => upstream.close())
  const plan = gateway({
    asking: ({ answers }) => startClient({ ...answers(), transport: upstream.transport }),
  })
  let asked = 0
  const onElicit = (): { action: 'accept'; content: Record<string, never> } => {
    asked += 1
    return { action: 'accept', content: {} }
  }
  const first = await connect(plan, { client: { onElicit } })
  t.after(() => first.close())
  const other = await startClient({ name: 'other', transport: first.transport, onElicit, logger: false })
  t.after(() => other.close())
  const outcomes = await Promise.all([first.client, other].map((client) => client.callTool('asking__ask')))
  // the first question comes while both are under way; the second one may come when the first call is over
  assert.ok(outcomes.some(({ isError }) => isError === true))
  assert.match(outcomes.find(({ isError }) => isError === true)?.text ?? '', /several clients/)
  assert.ok(asked <= 1)
})

test.run()

async function through(
  t: TestContext,
  up: Revision,
  down: Revision,
): Promise<Connected & { client: Client }> {
  const upstream = await connect(asking(), { server: { revisions: [up] }, client: { era: eraOf(up) } })
  t.after(() => upstream.close())
  const plan = gateway({
    asking: ({ answers }) =>
      startClient({ ...answers(), transport: upstream.transport, era: eraOf(up), logger: false }),
  })
  const connected = await connect(plan, {
    server: { revisions: [down] },
    client: { ...answers, era: eraOf(down) },
  })
  t.after(() => connected.close())
  return connected
}

function eraOf(revision: Revision): 'modern' | 'handshake' {
  return revision === '2026-07-28' ? 'modern' : 'handshake'
}
