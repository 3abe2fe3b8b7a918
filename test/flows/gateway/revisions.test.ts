// second tier: time
import * as assert from 'uvu/assert'
import { McpError } from 'caduceus/protocol'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
} from 'caduceus/server'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { revisions, through } from './_pairs.js'

const test = suite('gateway: revisions', { timeout: 15_000 })

const form = {
  type: 'object' as const,
  properties: { name: { type: 'string' as const } },
  required: ['name'],
}

/** A server with one of each kind, and what it hears of cancelled calls. */
function whole() {
  const cancelled = heard<string>()
  const definition = defineServer({
    name: 'whole',
    version: '1.0.0',
    instructions: 'Ask first.',
    logging: true,
    tools: {
      steps: defineTool({
        description: 'Tells of its steps.',
        input: { type: 'object', properties: { text: { type: 'string' } } },
        annotations: { readOnlyHint: true },
        run({ text = '' }, ctx) {
          ctx.log('warning', { text })
          for (const step of [1, 2]) ctx.progress(step, 2, `step ${step}`)
          return `did ${text}`
        },
      }),
      hang: defineTool({
        run: (_args, ctx) =>
          new Promise<string>(() => {
            ctx.signal.addEventListener('abort', () => cancelled.add('hang'))
            ctx.progress(1)
          }),
      }),
      fail: defineTool({
        run(): string {
          throw new McpError(-32_011, 'no more paper', { data: { tray: 2 } })
        },
      }),
      ask: defineTool({
        async run(_args, ctx) {
          const { action, content } = await ctx.elicit('name', { message: 'Who?', requestedSchema: form })
          return `${action} ${content?.name}`
        },
      }),
      sample: defineTool({
        async run(_args, ctx) {
          const message = { role: 'user', content: { type: 'text', text: 'A poem.' } } as const
          const { model } = await ctx.sample('poem', { messages: [message], maxTokens: 10 })
          return model
        },
      }),
      roots: defineTool({
        run: async (_args, ctx) => (await ctx.roots('where')).map(({ uri }) => uri).join(),
      }),
    },
    resources: [defineResource({ uri: 'note://one', name: 'one', read: () => 'first' })],
    resourceTemplates: [
      defineResourceTemplate({
        uriTemplate: 'day://{day}',
        name: 'day',
        read: ({ day }) => `it is ${day}`,
        complete: { day: () => ['monday'] },
      }),
    ],
    prompts: [
      definePrompt({
        name: 'greet',
        arguments: [{ name: 'who', required: true }],
        get: ({ who }) => `Greet ${who}`,
        complete: { who: () => ['ada', 'bob'] },
      }),
    ],
  })
  return { definition, cancelled }
}

/** Forms are there from 2025-06-18 on. */
const asksForms = (revision: string): boolean => revision >= '2025-06-18'

for (const up of revisions)
  for (const down of revisions) {
    const pair = { up, down }
    test(`server ${up}, client ${down}: requests of every kind work`, async (t) => {
      const { definition } = whole()
      const { below, upstream } = await through(t, definition, pair)
      const { client } = below
      assert.is(client.server?.revision, down)
      assert.is(client.server?.instructions, '# up\n\n> Ask first.')
      const { tools } = await client.listTools()
      const own = (await upstream.client.listTools()).tools.find(({ name }) => name === 'steps')
      const listed = tools.find(({ name }) => name === 'up__steps')
      assert.equal(listed?.inputSchema, own?.inputSchema)
      if (up === down) assert.equal(JSON.stringify({ ...listed, name: 'steps' }), JSON.stringify(own))
      assert.is((await client.callTool('up__steps', { text: 'it' })).text, 'did it')
      assert.is((await client.readResource('note://one')).text, 'first')
      assert.is((await client.readResource('day://monday')).text, 'it is monday')
      const { resourceTemplates } = await client.listTemplates()
      assert.is(resourceTemplates[0]?.uriTemplate, 'day://{day}')
      assert.match((await client.getPrompt('up__greet', { who: 'ada' })).text, 'Greet ada')
      if (client.supports('completion/complete')) {
        const ref = { type: 'ref/prompt', name: 'up__greet' } as const
        const { completion } = await client.complete({ ref, argument: { name: 'who', value: '' } })
        assert.equal(completion.values, ['ada', 'bob'])
      }
      const failed = await client.callTool('up__fail').catch((error: unknown) => error)
      assert.ok(failed instanceof McpError, String(failed))
      assert.equal([failed.code, failed.message, failed.data], [-32_011, 'no more paper', { tray: 2 }])
      const missing = await client.readResource('note://none').catch((error: unknown) => error)
      assert.ok(missing instanceof McpError, String(missing))
      assert.is(missing.code, down === '2026-07-28' ? -32_602 : -32_002)
    })

    test(`server ${up}, client ${down}: every notification passes`, async (t) => {
      const { definition, cancelled } = whole()
      const { below, upstream } = await through(t, definition, pair)
      const { client } = below
      await client.setLevel('info')
      const logs = heard<unknown>()
      client.onNotification('notifications/message', (params) => logs.add(params))
      const steps: unknown[] = []
      const onProgress = (progress: unknown): void => void steps.push(progress)
      await client.callTool('up__steps', { text: 'a' }, { onProgress })
      const hasMessage = up !== '2024-11-05' && down !== '2024-11-05'
      assert.equal(
        steps,
        [1, 2].map((progress) => ({
          progress,
          total: 2,
          ...(hasMessage && { message: `step ${progress}` }),
        })),
      )
      const log = await logs.next()
      assert.equal(log, { level: 'warning', logger: 'up', data: { text: 'a' } })
      const giveUp = new AbortController()
      const began = () => giveUp.abort()
      const gone = await client
        .callTool('up__hang', {}, { signal: giveUp.signal, onProgress: began })
        .catch((error: { code: string }) => error.code)
      assert.is(gone, 'CANCELLED')
      await cancelled.next()
      const changed = heard<string>()
      client.onNotification('notifications/tools/list_changed', () => changed.add('tools'))
      client.onNotification('notifications/resources/updated', ({ uri }) => changed.add(uri))
      await client.subscribe('note://one')
      await upstream.server.addTool(defineTool({ name: 'late', run: () => 'late' }))
      // a stream that begins anew tells of changes before this one, too
      let names: string[] = []
      while (!names.includes('up__late')) {
        await changed.next((what) => what === 'tools')
        names = (await client.listTools()).tools.map(({ name }) => name)
      }
      assert.is((await client.callTool('up__late')).text, 'late')
      // the subscription goes on to the server after its answer
      let isTold = false
      const told = changed.next((what) => what === 'note://one').then(() => (isTold = true))
      while (!isTold) {
        await upstream.server.resourceUpdated('note://one')
        await client.ping()
      }
      await told
    })

    test(`server ${up}, client ${down}: forms, sampling and roots are asked`, async (t) => {
      const { definition } = whole()
      const { below } = await through(t, definition, pair, {
        client: {
          onElicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
          onSample: () => ({ model: 'm', role: 'assistant', content: { type: 'text', text: 'Roses.' } }),
          roots: [{ uri: 'file:///home' }],
        },
      })
      const { client } = below
      assert.is((await client.callTool('up__sample')).text, 'm')
      assert.is((await client.callTool('up__roots')).text, 'file:///home')
      if (asksForms(up) && asksForms(down)) assert.is((await client.callTool('up__ask')).text, 'accept Ada')
      else {
        const refused = await client.callTool('up__ask').catch((error: unknown) => error)
        assert.ok(refused instanceof McpError || (refused as { isError?: boolean }).isError === true)
      }
    })
  }

test.run()
