import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import {
  type ClusterEngine,
  defineServer,
  defineTool,
  type Server,
  type ServerOptions,
  type ToolDefinition,
} from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import type { Suite, TestContext } from '../../support/suite.js'
import { RawClient, type Wire } from '../_client.js'
import { eventually, startCluster } from '../nodes/_servers.js'
import { as, byName } from '../_principals.js'
import { startEngineNodes } from '../nodes/_nodes.js'
import { asks, at, greet, held, ModernClient } from './_tasks.js'

/** What the nodes of a test share, and a look at it. */
export interface TaskBench {
  /** The engine as the machine with this number sees it. */
  wayTo(index: number): ClusterEngine
  /** What it has of tasks. */
  kept(): readonly string[]
}

/** What servers that share an engine promise of tasks. */
export function clusterTasksSuite(
  test: Suite,
  startBench: (t: TestContext) => TaskBench | Promise<TaskBench>,
): void {
  async function start(
    t: TestContext,
    tools: readonly (readonly ToolDefinition[])[],
    options: Partial<ServerOptions> = {},
  ) {
    const bench = await startBench(t)
    const definitions = tools.map((own) => defineServer({ name: 'test', version: '1', tools: own }))
    const servers = await startCluster(t, (index) => bench.wayTo(index), definitions, options)
    return {
      bench,
      servers,
      clients: servers.map(({ url }) => new ModernClient(t, url)) as unknown as Clients,
    }
  }

  test('a task is read, answered and cancelled on every node', async (t) => {
    const { tool, begun, signals } = held()
    const { clients } = await start(t, Array(3).fill([asks, tool]))
    const [a, b, c] = clients
    const id = await a.start('asks')
    assert.equal(Object.keys(at<object>(await b.until(id, 'input_required'), 'inputRequests')), ['first'])
    assert.is((await b.ask('tasks/update', answer(id, 'first', 'Ada'))).result?.resultType, 'complete')
    await eventually(async () => 'last' in (at<object>((await c.get(id)).result, 'inputRequests') ?? {}))
    const wrong = { taskId: id, inputResponses: { last: { action: 'perhaps' } } }
    assert.is((await c.ask('tasks/update', wrong)).error?.code, -32602)
    await c.ask('tasks/update', answer(id, 'last', 'Lovelace'))
    for (const client of clients) assert.is(textOf(await client.until(id, 'completed')), 'Ada Lovelace')

    const other = await a.start('held')
    await begun
    assert.is((await b.ask('tasks/cancel', { taskId: other })).error, undefined)
    assert.is(signals[0]?.aborted, true)
    for (const client of clients) assert.is((await client.get(other)).result?.status, 'cancelled')
    for (const client of clients) assert.is((await client.get('unknown')).error?.code, -32602)
  })

  test('a task is awaited on another node, which relays its questions', async (t) => {
    const { tool, gate } = held()
    const { servers, clients } = await start(t, Array(2).fill([asks, tool]))
    const id = await clients[0].start('asks')
    const session = await new RawClient(t, servers[1]?.url).open('raw', '2025-11-25', { elicitation: {} })
    const params = { taskId: id }
    const stream = await session.stream({ jsonrpc: '2.0', id: 50, method: 'tasks/result', params })
    for (const name of ['Ada', 'Lovelace']) {
      const question = await stream.next()
      assert.is(question.method, 'elicitation/create')
      await session.post({ jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { name } } })
    }
    assert.is((await stream.next()).result?.content?.[0]?.text, 'Ada Lovelace')
    const other = await clients[0].start('held')
    const waiting = session.ask('tasks/result', { taskId: other })
    assert.is((await session.ask('tasks/get', { taskId: other })).result?.status, 'working')
    gate.resolve('done')
    assert.is((await waiting).result?.content?.[0]?.text, 'done')
    const created = await session.ask('tools/call', { name: 'asks', task: {} })
    const own = at<string>(created.result, 'task', 'taskId')
    const elsewhere = await new RawClient(t, servers[0]?.url).open('raw', '2025-11-25', {})
    assert.is((await elsewhere.ask('tasks/cancel', { taskId: own })).result?.status, 'cancelled')
    assert.is((await session.ask('tasks/get', { taskId: own })).result?.status, 'cancelled')
  })

  test('a stream of changes covers tasks of other nodes', async (t) => {
    const { clients } = await start(t, Array(2).fill([asks]))
    const [a, b] = clients
    const id = await a.start('asks')
    await b.until(id, 'input_required')
    const stream = await b.listen({ taskIds: [id, 'unknown'] })
    assert.equal(at((await stream.next()).params, 'notifications'), { taskIds: [id] })
    const told = async () => {
      const { method, params } = await stream.next()
      assert.is(method, 'notifications/tasks')
      return [params?.taskId, params?.status, Object.keys(at<object>(params, 'inputRequests') ?? {}).join()]
    }
    assert.equal(await told(), [id, 'input_required', 'first'])
    await a.ask('tasks/update', answer(id, 'first', 'Ada'))
    for (let last = ''; last !== 'last'; ) last = String((await told())[2])
    await a.ask('tasks/update', answer(id, 'last', 'Lovelace'))
    for (let status = ''; status !== 'completed'; ) status = String((await told())[1])
    stream.close()
  })

  test('a task list covers the tasks of its client on all nodes, by page', async (t) => {
    const transport = () => serveHttp({ authenticate: byName })
    const bench = await startBench(t)
    const definition = defineServer({ name: 'test', version: '1', tools: [greet] })
    const servers: Server[] = []
    for (const index of [0, 1]) {
      const [server] = await startCluster(t, () => bench.wayTo(index), [definition], {
        transport: transport(),
      })
      servers.push(server as Server)
    }
    const ids: string[] = []
    for (let count = 0; count < 105; count += 1) {
      const ada = new ModernClient(t, servers[count % 2]?.url, as('ada'))
      ids.push(await ada.start('greet'))
    }
    const bob = new ModernClient(t, servers[0]?.url, as('bob'))
    const other = await bob.start('greet')
    for (const { url } of servers) {
      const client = new RawClient(t, url)
      client.own = as('ada')
      await client.open('raw', '2025-11-25', {})
      const found: string[] = []
      let cursor: unknown
      do {
        const { result } = await client.ask('tasks/list', cursor === undefined ? {} : { cursor })
        found.push(...at<{ taskId: string }[]>(result, 'tasks').map(({ taskId }) => taskId))
        cursor = result?.nextCursor
      } while (cursor !== undefined)
      assert.equal([...found].sort(), [...ids].sort())
      assert.is((await client.ask('tasks/get', { taskId: other })).error?.code, -32602)
      assert.is((await client.ask('tasks/cancel', { taskId: other })).error?.code, -32602)
      assert.is((await client.ask('tasks/list', { cursor: 'forged' })).error?.code, -32602)
    }
  })

  test('tasks of a dead node continue on another one with their finished steps', async (t) => {
    const bench = await startBench(t)
    const log: string[] = []
    const definitions = ['a', 'b', 'c'].map((node) =>
      defineServer({ name: 'test', version: '1', tools: [works(log, node), careful] }),
    )
    const machine = (name: string): ClusterEngine => bench.wayTo(Number(name.slice(5)) - 1)
    const nodes = await startEngineNodes(t, definitions, machine)
    const [first, second, third] = nodes.map(({ url }) => new ModernClient(t, url)) as unknown as Clients
    const ids = await Promise.all(Array.from({ length: 20 }, () => first.start('works')))
    const once = await first.start('careful')
    for (const id of ids) await second.until(id, 'input_required')
    const session = await new RawClient(t, nodes[1]?.url).open('raw', '2025-11-25', {})
    const waiting = session.ask('tasks/result', { taskId: ids[0] })
    assert.is(log.filter((line) => line === 'a first').length, 20)
    nodes[0]?.kill()
    // nobody asks for it
    await eventually(
      () => log.filter((line) => line !== 'a run' && line.endsWith(' run')).length === 20,
      15_000,
    )
    assert.is(log.filter((line) => line.endsWith(' first')).length, 20)
    for (const [number, id] of ids.entries()) {
      const client = number % 2 === 0 ? second : third
      await insist(() => client.ask('tasks/update', answer(id, 'name', 'Ada')))
    }
    for (const id of ids) assert.is(textOf(await third.until(id, 'completed')), 'Ada')
    assert.is((await waiting).result?.content?.[0]?.text, 'Ada')
    assert.is(log.filter((line) => line.endsWith(' second')).length, 20)
    assert.is(log.filter((line) => line.startsWith('a ')).length, 40)
    assert.match(String((await third.until(once, 'failed')).statusMessage), /not to run twice/)
    await eventually(() => bench.kept().every((key) => !key.includes(':w:')))
  })

  test('tasks of a stopped node continue on another one at once', async (t) => {
    const log: string[] = []
    const tools = ['a', 'b'].map((node) => [works(log, node)])
    const { servers, clients } = await start(t, tools, { timeouts: { drain: 1_000 } })
    const [a, b] = clients
    const id = await a.start('works')
    await b.until(id, 'input_required')
    const session = await new RawClient(t, servers[1]?.url).open('raw', '2025-11-25', {})
    const waiting = session.ask('tasks/result', { taskId: id })
    await servers[0]?.stop()
    await eventually(() => log.includes('b run'), 10_000)
    await insist(() => b.ask('tasks/update', answer(id, 'name', 'Ada')))
    assert.is((await waiting).result?.content?.[0]?.text, 'Ada')
    assert.equal(log, ['a run', 'a first', 'b run', 'b second'])
  })

  test('a step on a stopping node has the drain time of calls', async (t) => {
    const log: string[] = []
    const runs = (node: string) =>
      defineTool({
        name: 'runs',
        task: 'optional',
        async run(_args, ctx) {
          await ctx.once('step', async () => {
            log.push(`${node} begins`)
            await sleep(600)
            log.push(`${node} ends`)
          })
          return 'done'
        },
      })
    const { servers, clients } = await start(t, [[runs('a')], [runs('b')]], { timeouts: { drain: 10_000 } })
    const [a, b] = clients
    const id = await a.start('runs')
    await eventually(() => log.includes('a begins'))
    await servers[0]?.stop()
    await b.until(id, 'completed')
    assert.equal(log, ['a begins', 'a ends'])
  })

  test('task records expire, and tasks do not count as sessions', async (t) => {
    const { tool, begun } = held()
    const options = { limits: { sessions: 1 }, tasks: { ttl: 1_500 } }
    const { bench, servers, clients } = await start(t, Array(2).fill([greet, tool]), options)
    const [a, b] = clients
    const [id, working] = [await a.start('greet'), await b.start('held')]
    await begun
    await b.until(id, 'completed')
    await new RawClient(t, servers[0]?.url).open('raw', '2025-11-25', {})
    assert.ok(bench.kept().length > 0)
    await eventually(() => bench.kept().length === 0)
    for (const client of clients)
      for (const task of [id, working]) assert.is((await client.get(task)).error?.code, -32602)
  })
}

type Clients = readonly [ModernClient, ModernClient, ModernClient]

/** Does a step, asks, and does another one. */
function works(log: string[], node: string): ToolDefinition {
  return defineTool({
    name: 'works',
    task: 'optional',
    async run(_args, ctx) {
      log.push(`${node} run`)
      await ctx.once('first', () => void log.push(`${node} first`))
      const { content } = await ctx.elicit('name', {
        message: 'Your name?',
        requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
      })
      await ctx.once('second', () => void log.push(`${node} second`))
      return String(content?.name)
    },
  })
}

const careful = defineTool({
  name: 'careful',
  task: 'optional',
  taskRestart: 'fail',
  run: () => new Promise<string>(() => {}),
})

function answer(taskId: string, key: string, name: string): object {
  return { taskId, inputResponses: { [key]: { action: 'accept', content: { name } } } }
}

function textOf(task: object): string {
  return at<{ text: string }[]>(task, 'result', 'content')[0]?.text ?? ''
}

/** A node that is new to something may ask its client to try again. */
export async function insist(ask: () => Promise<Wire>): Promise<Wire> {
  for (let tries = 1; ; tries += 1) {
    const response = await ask()
    if (response.error?.data?.retryable !== true || tries === 20) return response
    await sleep(100)
  }
}
