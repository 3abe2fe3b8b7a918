import * as assert from 'uvu/assert'
import { createFakeClock } from 'caduceus/runtime'
import { sealed, type ToolContext } from 'caduceus/server'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import type { Wire } from '../_client.js'
import { settle } from './_exchanges.js'
import { startAsker, textOf, who, wireOf } from '../context/_asker.js'
import { ask } from './_rounds-definition.js'

const test = suite('retried calls')
const both = [true, false]

test('a second retry joins the first and survives the first client leaving', async (t) => {
  for (const parking of both) {
    const gate = heard<() => void>()
    const run = async (ctx: ToolContext) => {
      await who(ctx)
      await new Promise<void>((resolve) => gate.add(resolve))
      ctx.progress(1)
      return ctx.requestId
    }
    // on a busy machine a request that takes its time would have those behind it wait a turn
    const options = { limits: { parked: parking ? 1_000 : 0 }, clock: createFakeClock() }
    const { call, retry, contexts } = await startAsker(t, run, options)
    const asked = await wireOf(call())
    const how = { progressToken: 1 }
    const [a, b, c] = ['a', 'b', 'c'].map((id) => retry(asked, { id, ...how }))
    const open = await gate.next()
    a?.abort()
    assert.is((await a?.answer)?.response, undefined)
    open()
    const answers = [await b?.wire, await c?.wire]
    assert.equal(
      answers.map((wire) => [wire?.id, textOf(wire ?? {})]),
      [
        ['b', '"b"'],
        ['c', '"b"'],
      ],
    )
    assert.equal(
      [a, b, c].map((sent) => sent?.told.length),
      [0, 1, 0],
    )
    assert.is(contexts.all.at(-1)?.signal.aborted, true) // it has ended
    assert.is(contexts.all.length, parking ? 1 : 2)
  }
})

test('the same answers lead to the same outcome, also when it is there already', async (t) => {
  for (const parking of both) {
    const run = async (ctx: ToolContext) => {
      for (const key of ['a', 'b']) await ctx.elicit(key, ask('name'))
      return ctx.requestId
    }
    const { call, retry, contexts } = await startAsker(t, run, { limits: { parked: parking ? 1_000 : 0 } })
    const first = await wireOf(call())
    const second: Wire[] = await Promise.all([wireOf(retry(first)), wireOf(retry(first))])
    second.push(await wireOf(retry(first, { id: 'late' })))
    assert.is(second[2]?.id, 'late')
    for (const { result } of second) assert.equal(result, second[0]?.result)
    const [asked = {}] = second
    const ends = [await wireOf(retry(asked, { id: 'x' })), await wireOf(retry(asked, { id: 'y' }))]
    assert.equal(
      ends.map((wire) => [wire.id, textOf(wire)]),
      [
        ['x', '"x"'],
        ['y', '"x"'],
      ],
    )
    assert.is(contexts.all.length, parking ? 1 : 3)
  }
})

test('a round stops when all its clients have left, and can start once more', async (t) => {
  const gate = heard<() => void>()
  const { call, retry, contexts } = await startAsker(t, async (ctx) => {
    await who(ctx)
    await new Promise<void>((resolve) => gate.add(resolve))
    return 'done'
  })
  const asked = await wireOf(call())
  const sent = [retry(asked), retry(asked)]
  await gate.next()
  sent[1]?.abort()
  assert.is(contexts.all[0]?.signal.aborted, false)
  sent[0]?.abort()
  assert.is(contexts.all[0]?.signal.aborted, true)
  const again = retry(asked)
  ;(await gate.next())()
  assert.is(textOf(await wireOf(again)), '"done"')
})

test('a crash is not cached: the next retry runs again', async (t) => {
  for (const parking of both) {
    let tries = 0
    const run = async (ctx: ToolContext) => {
      await who(ctx)
      tries += 1
      if (tries === 1) throw new Error('not yet')
      return tries
    }
    const { call, retry } = await startAsker(t, run, { limits: { parked: parking ? 1_000 : 0 } })
    const asked = await wireOf(call())
    assert.equal(
      [textOf(await wireOf(retry(asked))), textOf(await wireOf(retry(asked)))],
      ['Internal error', '2'],
    )
  }
})

test('a state survives a group restart, and no step is repeated', async (t) => {
  let paid = 0
  const { call, retry, port, server, contexts } = await startAsker(t, async (ctx) => {
    await ctx.once('pay', () => {
      paid += 1
    })
    return (await who(ctx)).action
  })
  const asked = await wireOf(call())
  const before = port()
  server.registry.whereis('test/base')?.kill()
  while (port() === before) await new Promise(setImmediate)
  assert.is(contexts.all[0]?.signal.aborted, true)
  assert.is(textOf(await wireOf(retry(asked))), '"accept"')
  assert.equal([paid, contexts.all.length], [1, 2])
})

test('a running step is awaited before the client is asked', async (t) => {
  for (const parking of both) {
    const gate = heard<() => void>()
    let paid = 0
    const run = async (ctx: ToolContext) => {
      const paying = ctx.once('pay', async () => {
        await new Promise<void>((resolve) => gate.add(resolve))
        return ++paid
      })
      return [(await who(ctx)).action, await paying]
    }
    const { call, retry } = await startAsker(t, run, { limits: { parked: parking ? 1_000 : 0 } })
    const sent = call()
    const open = await gate.next()
    let answered = false
    void sent.answer.then(() => {
      answered = true
    })
    await settle(5)
    assert.is(answered, false)
    open()
    assert.is(textOf(await wireOf(retry(await wireOf(sent)))), '["accept",1]')
    assert.is(paid, 1)
  }
})

test('a step may ask, and a hanging one delays nobody for ever', async (t) => {
  for (const parking of both) {
    const run = (ctx: ToolContext) =>
      ctx.once('outer', () => ctx.once('inner', async () => (await who(ctx)).action))
    const { call, retry } = await startAsker(t, run, { limits: { parked: parking ? 1_000 : 0 } })
    assert.is(textOf(await wireOf(retry(await wireOf(call())))), '"accept"')
  }
  const clock = createFakeClock()
  const stuck = await startAsker(
    t,
    (ctx) => {
      const asking = who(ctx)
      return ctx.once('stuck', async () => (await asking).action)
    },
    { clock },
  )
  const sent = stuck.call()
  await clock.advance(30_000)
  assert.is(textOf(await wireOf(stuck.retry(await wireOf(sent)))), '"accept"')
})

test('the deadline of an answer is that of its question', async (t) => {
  const { call, retry, contexts } = await startAsker(
    t,
    (ctx) => ctx.elicit('who', ask('name'), { timeout: 1 }),
    {
      limits: { parked: 0 },
    },
  )
  const asked = await wireOf(call())
  const due = Date.now() + 1
  while (Date.now() <= due) await settle()
  const { error } = await wireOf(retry(asked))
  assert.is(error?.code, -32602)
  assert.match(String(error?.message), /expired/)
  assert.is(contexts.all.length, 1)
})

test('keys rotate one after the other', async (t) => {
  const [old, young] = ['old secret '.repeat(4), 'young secret '.repeat(4)] as const
  const run = async (ctx: ToolContext) => (await who(ctx)).action
  const startWith = (...keys: string[]) => startAsker(t, run, { engine: sealed({ keys }) })
  const [first, second, third] = [await startWith(old), await startWith(young, old), await startWith(young)]
  assert.is(textOf(await wireOf(second.retry(await wireOf(first.call())))), '"accept"')
  assert.is(textOf(await wireOf(third.retry(await wireOf(second.call())))), '"accept"')
  assert.is(textOf(await wireOf(third.retry(await wireOf(first.call())))), '-32602')
  const [one, other] = [await startAsker(t, run), await startAsker(t, run)]
  assert.is(textOf(await wireOf(other.retry(await wireOf(one.call())))), '-32602')
})

test.run()
