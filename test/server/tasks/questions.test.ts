// Questions of tasks that nobody answers, that are too many, or that were others before.
import * as assert from 'uvu/assert'
import { defineTool, type ToolContext } from 'caduceus/server'
import { crash, fakeClock } from 'caduceus/testing'
import { suite } from '../../support/suite.js'
import { at, startTasks } from './_tasks.js'

const test = suite('questions of tasks')
const question = { message: 'Your name?', requestedSchema: { type: 'object', properties: {} } } as const
const codeOf = ({ code }: { readonly code?: string }): string => String(code)
const textOf = (done: unknown): string | undefined =>
  at<{ text: string }[]>(done, 'result', 'content')[0]?.text

function asking(run: (ctx: ToolContext) => Promise<string>) {
  return defineTool({ name: 'asks', task: 'optional', run: (_args, ctx) => run(ctx) })
}

test('one that nobody answers in its time is closed, and its task goes on', async (t) => {
  const clock = fakeClock()
  const tool = asking(async (ctx) => {
    const first = await ctx.elicit('first', question, { timeout: 1_000 }).catch(codeOf)
    const second = await ctx.elicit('second', question, { timeout: 1_000 })
    return `${String(first)}, ${second.action}`
  })
  const { modern } = await startTasks(t, [tool], { clock })
  const id = await modern.start('asks')
  await modern.until(id, 'input_required')
  await clock.advance(999)
  assert.equal(Object.keys((await modern.get(id)).result?.inputRequests ?? {}), ['first'])
  await clock.advance(1)
  for (;;) {
    const open = Object.keys((await modern.get(id)).result?.inputRequests ?? {})
    assert.not.equal(open, ['first', 'second'])
    if (open[0] === 'second') break
  }
  // it is answered, so its time is nobody's any more
  await modern.ask('tasks/update', { taskId: id, inputResponses: { second: { action: 'decline' } } })
  assert.is(textOf(await modern.until(id, 'completed')), 'ASK_TIMEOUT, decline')
})

test('a time that is none is refused, and nothing is asked', async (t) => {
  const tool = asking((ctx) => ctx.elicit('first', question, { timeout: -1 }).then(String, codeOf))
  const { modern } = await startTasks(t, [tool])
  assert.is(textOf(await modern.until(await modern.start('asks'), 'completed')), 'BAD_OPTION')
})

test('a hundred may be open: one more is refused, and an answer makes room', async (t) => {
  const tool = asking(async (ctx) => {
    const open = Array.from({ length: 100 }, (_, n) => ctx.elicit(`question ${n}`, question))
    const others = Promise.all(open).catch(codeOf)
    const refused = await ctx.elicit('one more', question).catch(codeOf)
    await open[0]
    void ctx.elicit('another', question).catch(() => {})
    await others
    return String(refused)
  })
  const { modern } = await startTasks(t, [tool])
  const id = await modern.start('asks')
  const all = async () => Object.keys((await modern.get(id)).result?.inputRequests ?? {})
  while ((await all()).length < 100);
  assert.not.ok((await all()).includes('one more'))
  const answer = (keys: readonly string[]) =>
    modern.ask('tasks/update', {
      taskId: id,
      inputResponses: Object.fromEntries(keys.map((key) => [key, { action: 'decline' }])),
    })
  await answer(['question 0'])
  while (!(await all()).includes('another'));
  await answer(Array.from({ length: 99 }, (_, n) => `question ${n + 1}`))
  assert.is(textOf(await modern.until(id, 'completed')), 'TOO_MANY_QUESTIONS')
})

test('an answer to another kind of question counts for none after a crash', async (t) => {
  let runs = 0
  const tool = asking(async (ctx) => {
    runs += 1
    const one = runs === 1 ? ctx.elicit('one', question) : ctx.roots('one')
    const first = await one.then(() => 'answered', codeOf)
    const second = await ctx.elicit('two', question)
    return `${first}, ${second.action}`
  })
  const { server, modern } = await startTasks(t, [tool])
  modern.capabilities = { ...modern.capabilities, roots: {} }
  const id = await modern.start('asks')
  await modern.until(id, 'input_required')
  await modern.ask('tasks/update', { taskId: id, inputResponses: { one: { action: 'decline' } } })
  const hasTwo = async () => Object.keys((await modern.get(id)).result?.inputRequests ?? {}).includes('two')
  while (!(await hasTwo()));
  const ref = server.registry.whereis(`test/mcp-task ${id}`)
  assert.ok(ref)
  await crash(ref)
  await modern.ask('tasks/update', { taskId: id, inputResponses: { two: { action: 'accept', content: {} } } })
  assert.is(textOf(await modern.until(id, 'completed')), 'BAD_ANSWER, accept')
  assert.is(runs, 2)
})

test.run()
