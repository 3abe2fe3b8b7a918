import * as assert from 'uvu/assert'
import { defineServer, defineTool, json, type ToolDefinition } from 'caduceus/server'
import { connect } from 'caduceus/testing'
import { suite } from '../../support/suite.js'

const test = suite('server session state')

const serve = (tools: readonly ToolDefinition[]) =>
  connect(defineServer({ name: 'state', version: '1', tools }))

test('concurrent updates of a session value lose no change', async () => {
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
  await using pair = await serve([slowly, read])
  await Promise.all(Array.from({ length: 10 }, () => pair.client.callTool('slowly')))
  assert.is((await pair.client.callTool('read')).text, '10')
})

test('session state copies its values and refuses what cannot be copied', async () => {
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
  await using pair = await serve(tools)
  const text = async (name: string) => (await pair.client.callTool(name)).text
  assert.is(await text('share'), '[1]')
  assert.is(await text('bad'), 'BAD_STATE fn')
  assert.is(await text('forget'), 'undefinedundefined')
})

test.run()
