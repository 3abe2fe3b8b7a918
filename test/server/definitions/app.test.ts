import * as assert from 'uvu/assert'
import { createApp, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { RawClient } from '../_client.js'

const test = suite('server/definitions/app')

type Own = { user: { id: string; role: string }; session: { count: number } }

test('an app defines what any server takes, and its tools see their user and session', async (t) => {
  const app = createApp<Own>()
  const counter = app.defineTool({
    description: 'Counts the calls of this session.',
    async run(_args, ctx) {
      const count = await ctx.update('count', (n = 0) => n + 1)
      return `${ctx.user?.id ?? 'nobody'} (${ctx.user?.role ?? 'none'}): ${count}`
    },
  })
  const definition = app.defineServer({
    name: 'test',
    version: '1',
    tools: { counter },
    session: {
      async init(ctx) {
        await ctx.update('count', () => 40)
      },
    },
  })
  const authenticate = ({ headers: { 'x-user': id } }: { headers: Readonly<Record<string, unknown>> }) =>
    typeof id === 'string'
      ? { issuer: 'test', subject: id, claims: { id, role: id === 'ada' ? 'admin' : 'guest' } }
      : 'anonymous'
  const server = await startServer(definition, { transport: serveHttp({ authenticate }), logger: false })
  t.after(() => server.stop())
  for (const [name, told] of [
    ['ada', 'ada (admin): 41'],
    ['bob', 'bob (guest): 41'],
    [undefined, 'nobody (none): 41'],
  ]) {
    const client = new RawClient(t, server.url)
    if (name !== undefined) client.own = { 'x-user': name }
    await client.open()
    assert.is(await client.text('counter'), told)
  }
})

test('an app exports the same functions as the package', () => {
  const { defineTool } = createApp<Own>()
  assert.is(defineTool, createApp().defineTool)
})

test.run()
