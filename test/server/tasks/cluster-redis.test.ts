// second tier: redis
// time limit: 180 s
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { redis } from 'caduceus/server'
import { noRedis, redisTest, startRedis } from '../../support/redis.js'
import { suite, type TestContext } from '../../support/suite.js'
import { eventually } from '../nodes/_servers.js'
import { makeFolder } from '../../support/folder.js'
import { clusterTasksSuite, insist } from './_cluster-suite.js'
import { ModernClient } from './_tasks.js'

const test = suite('tasks of nodes over Redis', { timeout: 40_000 })
const program = fileURLToPath(new URL('./_node-program.js', import.meta.url))

if (noRedis === undefined)
  clusterTasksSuite(test, async (t) => {
    const server = await startRedis(t)
    const kept = () => server.cli('--raw', 'EVAL', ofTasks, '0')
    return { wayTo: () => redis({ url: server.url }), kept }
  })

/** The keys that name a task, or hold those of nodes; a list of a client expires by itself. */
const ofTasks = `
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  if string.find(key, 'task\\n', 1, true) or string.find(key, ':w:', 1, true) then found[#found + 1] = string.gsub(key, '\\n', ' ') end
end
return found
`

async function startProgram(t: TestContext, ...args: readonly string[]) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  return { child, exited, client: new ModernClient(t, String(line).trim()) }
}

redisTest(test, 'tasks of killed programs are finished by others, steps once', async (t) => {
  const folder = makeFolder(t)
  const { url } = await startRedis(t)
  const nodes = await Promise.all(['a', 'b', 'c'].map((name) => startProgram(t, url, folder, name)))
  const [a, b, c] = nodes as [Node, Node, Node]
  const names = Array.from({ length: 12 }, (_, number) => `t${number}`)
  for (const name of names) writeFileSync(join(folder, `${name}.txt`), '')
  const ids = await Promise.all(
    names.map((id, number) => (number % 2 === 0 ? a : b).client.start('steps', { id, count: 100 })),
  )
  const linesOf = (name: string) =>
    readFileSync(join(folder, `${name}.txt`), 'utf8')
      .trim()
      .split('\n')
  await eventually(() => names.every((name) => linesOf(name).length > 5))
  for (const { child, exited } of [a, b]) {
    child.kill('SIGKILL')
    assert.is((await exited)[1], 'SIGKILL')
  }
  for (const id of ids)
    await eventually(
      async () => (await insist(() => c.client.get(id))).result?.status === 'completed',
      20_000,
    )
  for (const name of names) {
    const done = linesOf(name).map((line) => Number(line.split(' ')[0]))
    // the one step that was under way when its program died may have been done, and not be finished
    assert.ok(done.length <= 101, `${name}: ${done.length} steps`)
    assert.equal(
      [...new Set(done)],
      Array.from({ length: 100 }, (_, step) => step),
    )
    assert.ok(linesOf(name).some((line) => line.endsWith(' c')))
  }
})

redisTest(test, 'a resumed program writes nothing of tasks that another took', async (t) => {
  const folder = makeFolder(t)
  const { url } = await startRedis(t)
  const nodes = await Promise.all(['a', 'b'].map((name) => startProgram(t, url, folder, name)))
  const [a, b] = nodes as [Node, Node]
  const file = join(folder, 'one.txt')
  writeFileSync(file, '')
  const linesOf = () => readFileSync(file, 'utf8').trim().split('\n')
  const id = await a.client.start('steps', { id: 'one', count: 60 })
  await eventually(() => linesOf().length > 5)
  a.child.kill('SIGSTOP')
  const done = async ({ client }: Node) => (await insist(() => client.get(id))).result
  await eventually(() => linesOf().some((line) => line.endsWith(' b')), 10_000)
  a.child.kill('SIGCONT')
  await eventually(async () => (await done(b))?.status === 'completed', 15_000)
  const result = await done(b)
  await eventually(async () => (await done(a))?.status === 'completed', 10_000)
  assert.equal(await done(a), result)
  const ours = linesOf().filter((line) => line.endsWith(' b'))
  assert.is(ours.at(-1), '59 b')
  // one step may have been under way when it was stopped, and one begun before it heard of it
  assert.ok(linesOf().length <= 62, `${linesOf().length} steps`)
})

type Node = Awaited<ReturnType<typeof startProgram>>

test.run()
