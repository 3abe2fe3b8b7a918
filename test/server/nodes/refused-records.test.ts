import * as assert from 'uvu/assert'
import { type ClusterEngine, defineServer, defineTool, ServerError } from 'caduceus/server'
import { suite } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { startFake, startNode } from './_servers.js'

const test = suite('nodes: records that their engine refuses', { timeout: 20_000 })

const refused = 'forbidden'
const tools = [
  defineTool({
    name: 'append',
    session: true,
    input: { type: 'object', properties: { text: { type: 'string' } } },
    run: async ({ text }, ctx) => String(await ctx.update('words', (words = '') => `${words}${text}`)),
  }),
]
const definition = defineServer({ name: 'test', version: '1', tools })

/** An engine of an author, which takes no record with a certain word. */
function choosy(engine: ClusterEngine, isChecked: boolean): ClusterEngine {
  const look = (text: string): void => {
    if (text.includes(refused)) throw new ServerError('BAD_STATE', `not ${refused}`)
  }
  return {
    name: engine.name,
    settings: engine.settings,
    ...(isChecked && { check: (record) => look(JSON.stringify(record)) }),
    async open(ctx, as) {
      const open = await engine.open(ctx, as)
      const save: typeof open.save = async (node, session, epoch, record) => {
        look(record.text)
        return open.save(node, session, epoch, record)
      }
      return new Proxy(open, {
        get: (target, name) => {
          if (name === 'save') return save
          const value: unknown = Reflect.get(target, name)
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
    },
  }
}

for (const [how, isChecked] of Object.entries({ 'by its check': true, 'as it saves': false }))
  test(`state that is refused ${how} does not stay, here and on another node`, async (t) => {
    const { wayTo } = startFake()
    const one = await startNode(t, choosy(wayTo(0), isChecked), definition)
    const other = await startNode(t, choosy(wayTo(1), isChecked), definition)
    const client = await new RawClient(t, one.url).open()
    assert.is(await client.text('append', { text: 'a' }), 'a')
    const { result, error } = await client.call('append', { text: refused })
    if (isChecked) assert.is(result?.isError, true, 'the tool was told')
    else assert.is(error?.code, -32603)
    assert.is(await client.text('append', { text: 'b' }), 'ab')
    await one.stop()
    const next = new RawClient(t, other.url)
    next.sessionId = client.sessionId
    assert.is(await next.text('append', { text: 'c' }), 'abc')
  })

test.run()
