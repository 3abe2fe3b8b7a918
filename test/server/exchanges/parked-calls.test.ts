import * as assert from 'uvu/assert'
import { createFakeClock } from 'caduceus/runtime'
import { sealed, type ToolContext } from 'caduceus/server'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import type { Wire } from '../_client.js'
import { settle } from './_exchanges.js'
import { startAsker, textOf, who, wireOf } from '../context/_asker.js'
import { requestsOf, stateOf } from './_rounds.js'
import { ask } from './_rounds-definition.js'

const test = suite('parked calls')
const both = [true, false]
const principal = { issuer: 'https://a.example', subject: 'me' }

test('a parked handler continues, an unparked one runs again', async (t) => {
  for (const parking of both) {
    const { call, retry, contexts } = await startAsker(t, async (ctx) => (await who(ctx)).action, {
      limits: { parked: parking ? 1_000 : 0 },
    })
    const asked = await wireOf(call())
    const [first] = contexts.all
    assert.is(first?.signal.aborted, !parking)
    assert.is(textOf(await wireOf(retry(asked))), '"accept"')
    assert.is(contexts.all.length, parking ? 1 : 2)
  }
})

test('an answered client may leave; only the client of the retry counts', async (t) => {
  const gate = heard<() => void>()
  const { call, retry, contexts } = await startAsker(t, async (ctx) => {
    await who(ctx)
    ctx.progress(1)
    await new Promise<void>((resolve) => gate.add(resolve))
    ctx.progress(2)
  })
  const first = call()
  const asked = await wireOf(first)
  first.abort()
  const second = retry(asked, { progressToken: 1 })
  const open = await gate.next()
  const [ctx] = contexts.all
  assert.equal([ctx?.signal.aborted, second.told.length], [false, 1])
  second.abort()
  assert.is(ctx?.signal.aborted, true)
  assert.is((await second.answer).response, undefined)
  open()
  await settle()
  assert.is(second.told.length, 1)
})

test('a parked call without a client sends nothing', async (t) => {
  const gate = heard<() => void>()
  const { call, retry, contexts } = await startAsker(t, (ctx) => {
    const gated = new Promise<void>((resolve) => gate.add(resolve))
    return Promise.all([who(ctx), gated])
  })
  const first = call({}, { progressToken: 1 })
  const asked = await wireOf(first)
  const [ctx] = contexts.all
  assert.is(ctx?.progress(1), false)
  const second = retry(asked, { progressToken: 2 })
  await settle()
  assert.is(ctx?.progress(2), true)
  ;(await gate.next())()
  await second.answer
  assert.equal([first.told.length, second.told.length], [0, 1])
})

test('a parked handler expires, and the retry runs a new one', async (t) => {
  const clock = createFakeClock()
  const { call, retry, contexts } = await startAsker(t, async (ctx) => (await who(ctx)).action, {
    clock,
    timeouts: { question: 24 * 60 * 60_000 },
  })
  const asked = await wireOf(call())
  const [first] = contexts.all
  await clock.advance(10 * 60_000 - 1)
  assert.is(first?.signal.aborted, false)
  await clock.advance(1)
  assert.is(first?.signal.aborted, true)
  assert.is(textOf(await wireOf(retry(asked))), '"accept"')
  assert.is(contexts.all.length, 2)
})

test('a question that waited for a step leaves no timer', async (t) => {
  const clock = createFakeClock()
  const gate = heard<() => void>()
  const run = async (ctx: ToolContext) => {
    const slow = ctx.once('slow', () => new Promise<string>((resolve) => gate.add(() => resolve('done'))))
    await who(ctx)
    return slow
  }
  const { call, retry } = await startAsker(t, run, { clock })
  const before = clock.pending
  const first = call()
  const open = await gate.next()
  await settle()
  assert.is(clock.pending, before + 2, 'the time of the call, and that of the step')
  open()
  const asked = await wireOf(first)
  assert.is(clock.pending, before + 1, 'only the client is waited for')
  assert.is(textOf(await wireOf(retry(asked))), '"done"')
  assert.is(clock.pending, before)
})

test('the call timeout pauses during a question and restarts with the retry', async (t) => {
  const clock = createFakeClock()
  const gate = heard<() => void>()
  const run = async (ctx: ToolContext) => {
    await ctx.elicit('a', ask('name'))
    await new Promise<void>((resolve) => gate.add(resolve))
    return (await ctx.elicit('b', ask('name'))).action
  }
  const { call, retry, contexts } = await startAsker(t, run, { clock, toolTimeout: 1_000 })
  const first = await wireOf(call())
  await clock.advance(5_000)
  const second = retry(first)
  const open = await gate.next()
  await clock.advance(900)
  open()
  const asked = await wireOf(second)
  await clock.advance(5_000)
  assert.is(textOf(await wireOf(retry(asked))), '"accept"')
  assert.is(contexts.all.length, 1)

  const late = retry(await wireOf(call()))
  await gate.next()
  await clock.advance(1_000)
  const { result } = await wireOf(late)
  assert.equal([result?.isError, result?.resultType], [true, 'complete'])
  assert.match(String(result?.content?.[0]?.text), /longer than 1000 ms/)
})

test('an asking call takes no worker slot', async (t) => {
  const { call, retry } = await startAsker(t, async (ctx) => (await who(ctx)).action, {
    limits: { statelessRequests: 1 },
  })
  const asked = [await wireOf(call()), await wireOf(call()), await wireOf(call())]
  for (const one of asked) assert.is(textOf(await wireOf(retry(one))), '"accept"')
})

test('parked calls are bounded per principal, and others run again', async (t) => {
  const { call, retry, contexts } = await startAsker(t, async (ctx) => (await who(ctx)).action)
  const asked: Wire[] = []
  for (let left = 17; left > 0; left -= 1) asked.push(await wireOf(call({}, { principal })))
  await wireOf(call({}, { principal: { ...principal, subject: 'you' } }))
  assert.equal(
    contexts.all.map(({ signal }) => signal.aborted),
    [...new Array(16).fill(false), true, false],
  )
  for (const one of asked) assert.is(textOf(await wireOf(retry(one, { principal }))), '"accept"')
  assert.is(contexts.all.length, 19)
})

test('the outcome of a parked handler answers the retry', async (t) => {
  const gate = heard<() => void>()
  const { call, retry, contexts } = await startAsker(t, (ctx) => {
    const gated = new Promise<string>((resolve) => gate.add(() => resolve('without')))
    return Promise.race([who(ctx), gated])
  })
  const asked = await wireOf(call({}, { id: 'one' }))
  ;(await gate.next())()
  await settle()
  const answered = [await wireOf(retry(asked, { id: 'two' })), await wireOf(retry(asked, { id: 'three' }))]
  assert.equal(
    answered.map((wire) => [wire.id, textOf(wire)]),
    [
      ['two', '"without"'],
      ['three', '"without"'],
    ],
  )
  assert.is(contexts.all.length, 1)
})

test('a parked handler that crashes is run again', async (t) => {
  const gate = heard<() => void>()
  const { call, retry, contexts } = await startAsker(t, async (ctx) => {
    const gated = new Promise<never>((_resolve, reject) => gate.add(() => reject(new Error('gone'))))
    return (await Promise.race([who(ctx), gated])).action
  })
  const asked = await wireOf(call())
  ;(await gate.next())()
  await settle()
  assert.is(textOf(await wireOf(retry(asked))), '"accept"')
  assert.is(contexts.all.length, 2)
})

test('a parked handler ends when another program continues its call', async (t) => {
  const options = { engine: sealed({ keys: ['a secret of the tests, and of nobody else'] }) }
  const run = async (ctx: ToolContext) => {
    for (const key of ['a', 'b', 'c']) await ctx.elicit(key, ask('name'))
    return 'done'
  }
  const [here, there] = [await startAsker(t, run, options), await startAsker(t, run, options)]
  const first = await wireOf(here.call())
  const second = await wireOf(there.retry(first))
  assert.is(here.contexts.all[0]?.signal.aborted, false)
  const third = await wireOf(here.retry(second))
  assert.equal(
    here.contexts.all.map(({ signal }) => signal.aborted),
    [true, false],
  )
  assert.is(textOf(await wireOf(there.retry(third))), '"done"')
})

test('an old state does not disturb what continued from it', async (t) => {
  const { call, retry, contexts } = await startAsker(t, async (ctx) => {
    for (const key of ['a', 'b']) await ctx.elicit(key, ask('name'))
    return 'done'
  })
  const first = await wireOf(call())
  const second = await wireOf(retry(first))
  const again = await wireOf(call({ requestState: stateOf(first), inputResponses: {} }))
  assert.equal(Object.keys(requestsOf(again) ?? {}), ['a'])
  assert.equal(
    contexts.all.map(({ signal }) => signal.aborted),
    [false, true],
  )
  assert.is(textOf(await wireOf(retry(second))), '"done"')
  assert.is(contexts.all.length, 2)
})

test.run()
