import * as assert from 'uvu/assert'
import { defineTool, type Server } from 'caduceus/server'
import { crash, fakeClock, until } from 'caduceus/testing'
import { RawClient } from '../_client.js'
import { as, byName } from '../_principals.js'
import { startAllowance } from '../../support/allowance.mjs'
import { suite } from '../../support/suite.js'
import { asks, at, greet, held, keeping, keptTasks, ModernClient, startTasks } from './_tasks.js'

const test = suite('tasks that outlive what is around them')

/** A tool that does one step, and then waits for the test in each run. */
function stepping() {
  const runs: AbortSignal[] = []
  let steps = 0
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const waiting: { count: number; resolve(): void }[] = []
  const tool = defineTool({
    name: 'stepping',
    task: 'optional',
    async run(_args, ctx) {
      await ctx.once('step', () => {
        steps += 1
      })
      runs.push(ctx.signal)
      for (const { count, resolve } of waiting) if (runs.length >= count) resolve()
      await opened
      return `${steps} step`
    },
  })
  const begun = (count: number) =>
    new Promise<void>((resolve) => {
      if (runs.length >= count) resolve()
      else waiting.push({ count, resolve })
    })
  return { tool, runs, begun, open: () => open() }
}

for (const part of ['tasks', 'base', 'transport', 'sessions', 'group'] as const)
  test(`a group restart loses and repeats no task (${part})`, async (t) => {
    const { tool, runs, begun, open } = stepping()
    const { server, modern } = await startTasks(t, [tool])
    const id = await modern.start('stepping')
    await begun(1)
    await crash(server, { part })
    const look = () => modern.getAgain(id)
    assert.is((await look()).result?.status, 'working')
    open()
    await modern.until(id, 'completed', look)
    assert.is(runs.length, 1)
  })

for (const part of ['ledger', 'liveTasks', 'taskRuns'] as const)
  test(`a crash of the task keepers continues tasks with their steps (${part})`, async (t) => {
    const { tool, runs, begun, open } = stepping()
    const { server, modern } = await startTasks(t, [tool, greet])
    const id = await modern.start('stepping')
    const kept = await modern.start('greet')
    await modern.until(kept, 'completed')
    await begun(1)
    await crash(server, { part })
    await begun(2)
    assert.is(runs[0]?.aborted, true)
    assert.is((await modern.get(kept)).result?.status, 'completed')
    open()
    const done = await modern.until(id, 'completed')
    assert.is(at<{ text: string }[]>(done, 'result', 'content')[0]?.text, '1 step')
  })

test('a crashed task actor affects no other task, and its task continues', async (t) => {
  const one = stepping()
  const { tool: other, gate } = held('other')
  const { server, modern } = await startTasks(t, [one.tool, other])
  const id = await modern.start('stepping')
  const neighbour = await modern.start('other')
  await one.begun(1)
  const ref = server.registry.whereis(`test/mcp-task ${id}`)
  assert.ok(ref)
  await crash(ref)
  await one.begun(2)
  one.open()
  await modern.until(id, 'completed')
  gate.resolve('unharmed')
  const done = await modern.until(neighbour, 'completed')
  assert.is(at<{ text: string }[]>(done, 'result', 'content')[0]?.text, 'unharmed')
})

test('another session of the same principal finds a task', async (t) => {
  const { tool, gate } = held()
  const { server } = await startTasks(t, [tool], { http: { authenticate: byName } })
  const open = (name: string) => {
    const client = new RawClient(t, server.url)
    client.own = as(name)
    return client.open()
  }
  const first = await open('ada')
  const { result } = await first.ask('tools/call', { name: 'held', task: {} })
  const taskId = at<string>(result, 'task', 'taskId')
  await first.send('DELETE', undefined, first.headers())
  const second = await open('ada')
  assert.equal(
    at<object[]>((await second.ask('tasks/list')).result, 'tasks').map((task) => at(task, 'taskId')),
    [taskId],
  )
  const waiting = second.ask('tasks/result', { taskId })
  gate.resolve('found')
  assert.is((await waiting).result?.content?.[0]?.text, 'found')
})

test('to other principals a task does not exist', async (t) => {
  const { server } = await startTasks(t, [asks], { http: { authenticate: byName } })
  const ada = new ModernClient(t, server.url, as('ada'))
  const id = await ada.start('asks')
  await ada.until(id, 'input_required')
  const unknown = await ada.ask('tasks/get', { taskId: 'never' })
  assert.is(unknown.error?.code, -32602)
  const strangers = [
    new ModernClient(t, server.url, as('eve')),
    new ModernClient(t, server.url, as('ada@https://other.example')),
    new ModernClient(t, server.url),
  ]
  for (const stranger of strangers) {
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
      const answer = await stranger.ask(method, {
        taskId: id,
        inputResponses: { first: { action: 'accept', content: { name: 'Eve' } } },
      })
      assert.equal(answer.error, unknown.error, method)
    }
  }
  assert.is((await ada.get(id)).result?.status, 'input_required')
  const session = new RawClient(t, server.url)
  session.own = as('eve')
  await session.open()
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
    assert.equal((await session.ask(method, { taskId: id })).error, unknown.error, method)
  assert.equal((await session.ask('tasks/list')).result?.tasks, [])
  const anonymous = await new RawClient(t, server.url).open()
  assert.is((await anonymous.ask('tasks/list')).error?.code, -32601)
})

test('hostile task ids and params are refused', async (t) => {
  const { modern, session } = await startTasks(t, [greet])
  const ids = ['', '../../etc/passwd', '__proto__', 'x'.repeat(200), '\u0000', 'ü', 'constructor']
  for (const taskId of ids)
    for (const method of ['tasks/get', 'tasks/cancel'])
      assert.is((await (await session()).ask(method, { taskId })).error?.code, -32602, `${method} ${taskId}`)
  const client = await session()
  for (const taskId of [7, null, {}, ['x'], 'x'.repeat(1_000_000)])
    assert.is((await client.ask('tasks/result', { taskId })).error?.code, -32602)
  for (const inputResponses of [undefined, 7, [], 'x'])
    assert.is((await modern.ask('tasks/update', { taskId: 'x', inputResponses })).error?.code, -32602)
  const odd = await client.ask('tools/call', { name: 'greet', task: { ttl: -1 } })
  assert.is(at(odd.result, 'task', 'ttl'), 3_600_000)
  const long = await client.ask('tools/call', { name: 'greet', task: { ttl: 1e300 } })
  assert.is(at(long.result, 'task', 'ttl'), 24 * 3_600_000)
})

test('a task is deleted at its time limit, and its waiters are told', async (t) => {
  const clock = fakeClock()
  const { tool, signals, begun } = held()
  const { session, modern } = await startTasks(t, [tool, greet], { clock, tasks: { ttl: 120_000 } })
  const client = await session()
  const { result } = await client.ask('tools/call', { name: 'held', task: { ttl: 60_000 } })
  const taskId = at<string>(result, 'task', 'taskId')
  const other = await modern.start('greet')
  await modern.until(other, 'completed')
  await begun
  const waiting = client.ask('tasks/result', { taskId })
  // its end is a date, of which a little has passed by itself
  await clock.advance(50_000)
  assert.is((await client.ask('tasks/get', { taskId })).result?.status, 'working')
  await clock.advance(10_000)
  const answer = await waiting
  assert.is(answer.error?.code, -32602)
  assert.is((await client.ask('tasks/get', { taskId })).error?.code, -32602)
  assert.is(signals[0]?.aborted, true)
  assert.is((await modern.get(other)).result?.status, 'completed')
  await clock.advance(60_000)
  assert.is((await modern.get(other)).error?.code, -32602)
})

test('a tool beyond its time fails its task; the time pauses during questions', async (t) => {
  const clock = fakeClock()
  const slow = defineTool({
    name: 'slow',
    task: 'optional',
    timeout: 1_000,
    run: () => new Promise<string>(() => {}),
  })
  const patient = defineTool({ name: 'patient', task: 'optional', timeout: 1_000, run: asks.run as never })
  const { modern } = await startTasks(t, [slow, patient], { clock })
  const [late, asking] = [await modern.start('slow'), await modern.start('patient')]
  await modern.until(asking, 'input_required')
  await clock.advance(1_000)
  const done = await modern.until(late, 'completed')
  assert.is(at(done, 'result', 'isError'), true)
  assert.match(String(done.statusMessage), /took longer than 1000 ms/)
  await clock.advance(60_000)
  assert.is((await modern.get(asking)).result?.status, 'input_required')
})

test('an orderly stop waits for no durable task, and the next server finishes it', async (t) => {
  const { tool, begun, open } = stepping()
  const engine = keeping(keptTasks())
  const { server, session } = await startTasks(t, [tool], { engine, timeouts: { drain: 60_000 } })
  const client = await session()
  const { result } = await client.ask('tools/call', { name: 'stepping', task: {} })
  const taskId = at<string>(result, 'task', 'taskId')
  await begun(1)
  const waiting = client.ask('tasks/result', { taskId })
  await untilAsked(server, 1)
  await server.stop()
  const answer = await waiting
  assert.is(answer.error?.data?.retryable, true)
  const { modern } = await startTasks(t, [tool], { engine })
  await begun(2)
  open()
  const done = await modern.until(taskId, 'completed')
  assert.is(at(done, 'result', 'content', '0', 'text'), '1 step')
})

/** Until so many requests of the one session are under way: of two connections none is the first. */
function untilAsked(server: Server, count: number): Promise<void> {
  return until(async () => (await server.sessions())[0]?.requests === count)
}

/** A tool of two steps: the first ends when the test says so. */
function twoSteps() {
  const log: string[] = []
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  let begin = (): void => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const tool = defineTool({
    name: 'steps',
    task: 'optional',
    async run(_args, ctx) {
      await ctx.once('first', async () => {
        log.push('first begins')
        begin()
        await opened
        await ctx.once('within', () => void log.push('within'))
        log.push('first ends')
      })
      await ctx.once('second', () => void log.push('second'))
      return 'done'
    },
  })
  return { tool, log, begun, open }
}

test('a step running at the stop ends first and is not repeated; no other starts', async (t) => {
  const { tool, log, begun, open } = twoSteps()
  const engine = keeping(keptTasks())
  const { server, modern } = await startTasks(t, [tool], { engine, timeouts: { drain: 60_000 } })
  const id = await modern.start('steps')
  await begun
  const stopped = server.stop()
  // all connections are closed: what is left is the step
  await until(() => server.registry.whereis('test/transport') === undefined)
  open()
  await stopped
  assert.equal(log, ['first begins', 'within', 'first ends'])
  const next = await startTasks(t, [tool], { engine })
  await next.modern.until(id, 'completed')
  assert.equal(log, ['first begins', 'within', 'first ends', 'second'])
})

test('a step longer than the stop is cut and runs again', async (t) => {
  const { tool, log, begun, open } = twoSteps()
  const engine = keeping(keptTasks())
  const { server, modern } = await startTasks(t, [tool], { engine, timeouts: { drain: 300 } })
  const id = await modern.start('steps')
  await begun
  const allowed = startAllowance(5_000)
  await server.stop()
  assert.ok(allowed.left() > 0)
  const next = await startTasks(t, [tool], { engine })
  open()
  await next.modern.until(id, 'completed')
  assert.equal(log.filter((line) => line === 'first begins').length, 2)
})

test('with a memory store a stop gives awaited tasks the drain time of calls', async (t) => {
  const { tool, gate, begun } = held()
  const { tool: endless, begun: also } = held('endless')
  const { server, session } = await startTasks(t, [tool, endless], { timeouts: { drain: 300 } })
  const client = await session()
  const [one, other] = await Promise.all(
    ['held', 'endless'].map(async (name) => {
      const { result } = await client.ask('tools/call', { name, task: {} })
      return at<string>(result, 'task', 'taskId')
    }),
  )
  await Promise.all([begun, also])
  const inTime = client.ask('tasks/result', { taskId: one })
  const late = client.ask('tasks/result', { taskId: other }).catch((error: Error) => error)
  await untilAsked(server, 2)
  const stopping = server.stop()
  gate.resolve('in time')
  assert.is((await inTime).result?.content?.[0]?.text, 'in time')
  const told = await late
  assert.ok(told instanceof Error || told.error !== undefined)
  await stopping
})

test('task progress reaches those who poll and the request that waits', async (t) => {
  const { tool, gate } = held()
  const busy = defineTool({
    name: 'busy',
    task: 'optional',
    async run(args, ctx) {
      ctx.progress(1, 2, 'half of it')
      ctx.log('info', 'logged')
      return tool.run(args as never, ctx) as Promise<string>
    },
  })
  const { modern } = await startTasks(t, [busy])
  const id = await modern.start('busy')
  for (;;) {
    const { result } = await modern.get(id)
    if (result?.statusMessage === 'half of it') break
  }
  gate.resolve('done')
  assert.not('statusMessage' in (await modern.until(id, 'completed')))
})

test('a waiting request survives the death of the task actor', async (t) => {
  const { tool, begun, open } = stepping()
  const { server, session } = await startTasks(t, [tool])
  const client = await session()
  const { result } = await client.ask('tools/call', { name: 'stepping', task: {} })
  const taskId = at<string>(result, 'task', 'taskId')
  await begun(1)
  const waiting = client.ask('tasks/result', { taskId })
  await untilAsked(server, 1)
  const ref = server.registry.whereis(`test/mcp-task ${taskId}`)
  assert.ok(ref)
  await crash(ref)
  await begun(2)
  open()
  assert.is((await waiting).result?.content?.[0]?.text, '1 step')
})

test('a principal without the scopes cannot see the task result', async (t) => {
  const secret = defineTool({ name: 'secret', task: 'optional', scopes: ['read'], run: () => 'secret' })
  let scopes = ['read']
  const authenticate = () => ({ issuer: 'https://issuer.example', subject: 'ada', scopes })
  const { modern, session } = await startTasks(t, [secret, greet], { http: { authenticate } })
  const id = await modern.start('secret')
  await modern.until(id, 'completed')
  const client = await session()
  scopes = []
  assert.is((await modern.get(id)).error?.code, 403)
  assert.is((await modern.ask('tasks/cancel', { taskId: id })).error?.code, 403)
  assert.is((await client.ask('tasks/result', { taskId: id })).error?.code, 403)
  assert.equal((await client.ask('tasks/list')).result?.tasks, [])
  scopes = ['read']
  assert.is((await modern.get(id)).result?.status, 'completed')
})

test.run()
