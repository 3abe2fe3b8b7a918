import * as assert from 'uvu/assert'
import { defineTool } from '../../server/define-tool.js'
import { json } from '../../server/results.js'
import { suite } from '../support/suite.js'
import { RawClient } from './_client.js'
import { startTestServer } from './_servers.js'

const test = suite('server session state')

test('calls of one session that update one value at once lose none of the changes', async (t) => {
  const slowly = defineTool({
    name: 'slowly',
    run: async (_args, ctx) => {
      const add = async (n = 0) => {
        await new Promise((resolve) => setImmediate(resolve))
        return n + 1
      }
      return String(await ctx.update('sum', add))
    },
  })
  const read = defineTool({ name: 'read', run: async (_args, ctx) => json(await ctx.get('sum')) })
  const server = await startTestServer(t, [slowly, read])
  const client = await new RawClient(t, server.url).open()
  await Promise.all(Array.from({ length: 10 }, () => client.text('slowly')))
  assert.is(await client.text('read'), '10')
})

test('session state takes copies: changing a value afterwards changes nothing, and what cannot be copied is refused', async (t) => {
  const tools = [
    defineTool({
      name: 'share',
      run: async (_args, ctx) => {
        const list = await ctx.update('list', (items: number[] = []) => [...items, 1])
        list.push(99)
        const read = await ctx.get<number[]>('list')
        read?.push(98)
        return JSON.stringify(await ctx.get('list'))
      },
    }),
    defineTool({
      name: 'bad',
      run: async (_args, ctx) => {
        const error = await ctx.update('fn', () => () => 1).catch((reason) => reason)
        return `${error.code} ${error.data.key}`
      },
    }),
    defineTool({
      name: 'forget',
      run: async (_args, ctx) => String(await ctx.update('list', () => undefined)) + (await ctx.get('list')),
    }),
  ]
  const server = await startTestServer(t, tools)
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('share'), '[1]')
  assert.is(await client.text('bad'), 'BAD_STATE fn')
  assert.is(await client.text('forget'), 'undefinedundefined')
})

test.run()
