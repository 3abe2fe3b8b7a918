import * as assert from 'uvu/assert'
import { defineTool } from 'caduceus/server'
import { suite } from '../../support/suite.js'
import { startPort } from './_exchanges.js'
import { converse, type Send } from './_rounds.js'

const test = suite('server/exchanges/low-level-rounds')

const form = { type: 'object', properties: { name: { type: 'string' } } } as const

for (const parking of [true, false]) {
  test(`middleware and handler both ask in rounds (parking: ${parking})`, async (t) => {
    let runs = 0
    const ask = defineTool({
      name: 'ask',
      async run(_args, ctx) {
        const { content } = await ctx.elicit('tool', { message: 'Of the tool', requestedSchema: form })
        return `hello ${content?.name}`
      },
    })
    const { send } = await startPort(
      t,
      {
        tools: [ask],
        async handleRequest(request, ctx, next) {
          runs += 1
          if (request.method === 'tools/call')
            await ctx.elicit('handler', { message: 'Of the handler', requestedSchema: form })
          return next()
        },
      },
      { limits: { parked: parking ? 1_000 : 0 } },
    )
    const sending: Send = async (method, params, how) => {
      const { wire, told } = send(method, params, how)
      return [...told, (await wire) as never]
    }
    const { text, rounds } = await converse(sending, 'tools/call', { name: 'ask' })
    assert.is(text, 'hello my name')
    assert.equal(
      rounds.map((requests) => Object.keys(requests)),
      [['handler'], ['tool']],
    )
    assert.is(runs, parking ? 1 : 3)
  })
}

test.run()
