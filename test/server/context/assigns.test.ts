import * as assert from 'uvu/assert'
import {
  createApp,
  defineResource,
  defineServer,
  defineTool,
  type SessionContext,
  startServer,
} from 'caduceus/server'
import { connect, Recording } from 'caduceus/testing'
import { serveHttp } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { type Answer, RawClient } from '../_client.js'
import { startParts } from '../_servers.js'
import { type Posted, posted, startStateless } from '../_stateless.js'

const test = suite('server/context/assigns')

class Connection {
  isOpen = true
  readonly number: number
  constructor(number: number) {
    this.number = number
  }
}
interface Assigns {
  db: Connection
  note: string
}

const app = createApp<{ assigns: Assigns }>()

/** A server whose sessions have a connection each, and what became of them. */
function parts() {
  const made: Connection[] = []
  const ended = new Recording<string>('ends')
  const show = app.defineTool({
    name: 'show',
    run: (_, ctx) => `${ctx.assigns.db?.number} ${ctx.assigns.db?.isOpen} ${ctx.assigns.note}`,
  })
  const note = app.defineTool({
    name: 'note',
    input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    run({ text }, ctx) {
      ctx.assign({ note: text })
      return `${ctx.assigns.note}`
    },
  })
  const definition = app.defineServer({
    name: 'test',
    version: '1',
    tools: [show, note],
    session: {
      init(ctx, { restored }) {
        const db = new Connection(made.length + 1)
        made.push(db)
        ctx.assign({ db, note: restored ? 'again' : 'first' })
      },
      terminate({ assigns }, { type }) {
        if (assigns.db !== undefined) assigns.db.isOpen = false
        ended.add(`${assigns.db?.number} ${assigns.note} ${type}`)
      },
    },
  })
  return { definition, made, ended }
}

const textOf = (result: { readonly text: string }) => result.text

test('assigned values last for later requests of their session only', async () => {
  const { definition, made, ended } = parts()
  const pair = await connect(definition, { client: { era: 'handshake' } })
  assert.is(textOf(await pair.client.callTool('show')), '1 true first')
  assert.is(textOf(await pair.client.callTool('note', { text: 'mine' })), 'mine')
  assert.is(textOf(await pair.client.callTool('show')), '1 true mine')
  await pair.close()
  assert.match(await ended.next(), /^1 mine /)
  assert.equal(
    made.map(({ isOpen }) => isOpen),
    [false],
  )
})

test('a restored session computes its assigned values again, others have their own', async (t) => {
  const { definition, ended } = parts()
  const server = await startServer(definition, { transport: serveHttp(), logger: false })
  t.after(() => server.stop())
  const [one, two] = [await new RawClient(t, server.url).open(), await new RawClient(t, server.url).open()]
  const said = async (client: RawClient, name: string, args = {}) =>
    (await client.call(name, args)).result?.content?.[0]?.text
  await said(one, 'note', { text: 'mine' })
  assert.is(await said(two, 'show'), '2 true first')
  assert.is(await said(one, 'show'), '1 true mine')
  const [first] = await server.sessions()
  first?.ref?.kill()
  assert.match(await ended.next(), / killed$/)
  const shown = [await said(one, 'show'), await said(two, 'show')]
  assert.is(shown.filter((text) => text === '3 true again').length, 1)
  assert.ok(shown.includes('1 true mine') || shown.includes('2 true first'))
})

test('assigning without a session is refused', async (t) => {
  const tool = defineTool({
    name: 'x',
    run(_, ctx) {
      ctx.assign({ a: 1 })
      return 'done'
    },
  })
  const { send } = await startStateless(t, { tools: [tool] })
  const { messages } = await send(posted('tools/call', { name: 'x', arguments: {} }))
  const { isError, content } = messages[0]?.result ?? {}
  assert.is(isError, true)
  assert.match(content?.[0]?.text ?? '', /need a session/)
})

test('assigns that session.init would make are refused where there is no session', async (t) => {
  const read = defineTool({ name: 'x', run: (_, ctx) => `${ctx.assigns.db} ${ctx.user}` })
  const user = defineTool({ name: 'user', run: (_, ctx) => `${ctx.user}` })
  const tools = [read, user]
  const say = async (send: (request: Posted) => Promise<Answer>, name: string) => {
    const { messages } = await send(posted('tools/call', { name, arguments: {} }))
    const { isError, content } = messages[0]?.result ?? {}
    return [isError ?? false, content?.[0]?.text]
  }
  const session = { init: (ctx: SessionContext) => ctx.assign({ db: 1 }) }
  const { send } = await startStateless(t, { tools, session })
  const [isError, text] = await say(send, 'x')
  assert.is(isError, true)
  assert.match(
    String(text),
    /^tools\/call x: ctx\.assigns is made by session\.init .*: define it with session: true, .*, or open what it has once for the program$/,
  )
  assert.equal(await say(send, 'user'), [false, 'undefined'])
  // without init nobody would have made them, and terminate makes none
  for (const without of [{}, { session: { terminate: () => {} } }]) {
    const { send: other } = await startStateless(t, { tools, ...without })
    assert.equal(await say(other, 'x'), [false, 'undefined undefined'])
  }
})

test('a task has no assigns that session.init made, and says so', async () => {
  const tool = defineTool({ name: 'x', task: 'required', run: (_, ctx) => `${ctx.assigns.db}` })
  const session = { init: (ctx: SessionContext) => ctx.assign({ db: 1 }) }
  for (const era of ['handshake', 'modern'] as const) {
    const definition = defineServer({ name: 's', version: '1', tools: [tool], session })
    await using pair = await connect(definition, { client: { era } })
    const { isError, text } = await pair.client.callTool('x')
    assert.is(isError, true)
    assert.match(text, /ctx\.assigns is made by session\.init .*, and a task has none: it outlives it/)
  }
})

test('assigning a non-object is refused', async (t) => {
  const tool = defineTool({
    name: 'x',
    run(_, ctx) {
      ctx.assign('db' as never)
      return 'done'
    },
  })
  const { client } = await startParts(t, { tools: [tool] }, { exposeErrors: true })
  assert.match(await client.text('x'), /assign: expected an object, got "db"/)
})

test('a handler tells that a resource or a list has changed, in both eras', async () => {
  const tool = defineTool({
    name: 'x',
    async run(_, ctx) {
      await ctx.resourceUpdated('a:b')
      await ctx.listChanged('resources')
      const wrong = await ctx.listChanged('tool' as never).catch(({ message }: Error) => message)
      const none = await ctx.listChanged('prompts').catch(({ message }: Error) => message)
      return `${wrong}\n${none}`
    },
  })
  const resource = defineResource({ uri: 'a:b', name: 'b', read: () => 'x' })
  for (const era of ['handshake', 'modern'] as const) {
    const definition = defineServer({ name: 's', version: '1', tools: [tool], resources: [resource] })
    await using pair = await connect(definition, { client: { era } })
    const told = new Recording<string>('what the client hears')
    pair.client.onNotification('notifications/resources/updated', ({ uri }) => told.add(uri))
    pair.client.onNotification('notifications/resources/list_changed', () => told.add('list'))
    await pair.client.subscribe('a:b')
    const { text } = await pair.client.callTool('x')
    assert.match(
      text,
      /listChanged: expected a list among tools, resources, prompts \(did you mean "tools"\?\), got "tool"/,
    )
    assert.match(text, /listChanged: expected a list that the server declares, got "prompts"/)
    assert.equal([await told.next(), await told.next()].sort(), ['a:b', 'list'])
  }
})

test.run()
