// second tier: time
// time limit: 120 s
import * as assert from 'uvu/assert'
import { defineServer, defineTool, type Server } from 'caduceus/server'
import { crash } from 'caduceus/testing'
import { suite } from '../../support/suite.js'
import { eventually, startCluster, startFake } from '../nodes/_servers.js'
import { clusterTasksSuite } from './_cluster-suite.js'
import { at, held, ModernClient } from './_tasks.js'

const test = suite('tasks of nodes over the simulated engine', { timeout: 30_000 })

clusterTasksSuite(test, () => {
  const { engine, wayTo } = startFake({ lease: 2_500 })
  const kept = () => [...engine.state.sessions.keys()].filter((key) => key.startsWith('task\n'))
  return { wayTo, kept }
})

test('a node cut off writes nothing of a task that another took', async (t) => {
  const { engine, wayTo } = startFake({ lease: 2_500 })
  const [mine, other] = [held(), held()]
  const definitions = [mine, other].map(({ tool }) =>
    defineServer({ name: 'test', version: '1', tools: [tool] }),
  )
  const servers = await startCluster(t, wayTo, definitions)
  const [a, b] = servers.map(({ url }) => new ModernClient(t, url)) as [ModernClient, ModernClient]
  const id = await a.start('held')
  await mine.begun
  engine.cut('machine 0')
  await other.begun
  const refused = await a.get(id)
  assert.equal([refused.error?.code, refused.error?.data?.retryable], [-32603, true])
  other.gate.resolve('of the other')
  const done = await b.until(id, 'completed')
  mine.gate.resolve('of the first')
  engine.heal('machine 0')
  await eventually(async () => (await a.get(id)).error === undefined, 10_000)
  assert.equal((await a.get(id)).result, done)
  assert.is(at<{ text: string }[]>(done, 'result', 'content')[0]?.text, 'of the other')
  assert.is(mine.signals[0]?.aborted, true)
})

for (const part of ['ledger', 'liveTasks', 'taskRuns', 'group'] as const)
  test(`a crash of ${part} on any node loses no task`, async (t) => {
    const { wayTo } = startFake({ lease: 2_500 })
    const gate = held()
    const runs: string[] = []
    const tool = defineTool({
      name: 'held',
      task: 'optional',
      async run(_args, ctx) {
        await ctx.once('step', () => void runs.push('step'))
        runs.push('run')
        return gate.gate.promise
      },
    })
    const definition = defineServer({ name: 'test', version: '1', tools: [tool] })
    const servers = await startCluster(t, wayTo, [definition, definition])
    const [a, b] = servers.map(({ url }) => new ModernClient(t, url)) as [ModernClient, ModernClient]
    const id = await a.start('held')
    await eventually(() => runs.includes('run'))
    await crash(servers[0] as Server, { part })
    if (part !== 'group') await eventually(() => runs.length === 3)
    assert.is((await b.get(id)).result?.status, 'working')
    gate.gate.resolve('done')
    await eventually(async () => (await b.get(id)).result?.status === 'completed')
    await eventually(async () => (await a.get(id)).result?.status === 'completed')
    assert.equal(runs, part === 'group' ? ['step', 'run'] : ['step', 'run', 'run'])
  })

test('an engine outage loses no task: a step waits for it', async (t) => {
  const { engine, wayTo } = startFake({ lease: 2_500 })
  const { tool, gate, begun } = held()
  const definition = defineServer({ name: 'test', version: '1', tools: [tool] })
  const servers = await startCluster(t, wayTo, [definition, definition])
  const [a, b] = servers.map(({ url }) => new ModernClient(t, url)) as [ModernClient, ModernClient]
  const id = await a.start('held')
  await begun
  engine.stop()
  gate.resolve('done')
  await eventually(async () => (await b.get(id)).error?.code === -32603)
  engine.start({ wiped: true })
  await eventually(async () => (await b.get(id)).result?.status === 'completed', 15_000)
})

test.run()
