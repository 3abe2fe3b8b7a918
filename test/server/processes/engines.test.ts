// second tier: time, redis
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { files, inMemory, redis, type ServerEngine, type ServerProcesses, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { startRedis } from '../../support/redis.js'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { eventually } from '../nodes/_servers.js'

const test = suite('processes with each engine', { timeout: 60_000 })
const module = new URL('./_tasks.js', import.meta.url)
const patient = 20_000

for (const [name, engineOf] of Object.entries({
  inMemory: async () => inMemory(),
  files: async (t: TestContext) => files({ folder: folderOf(t) }),
  redis: async (t: TestContext) => redis({ url: (await startRedis(t)).url }),
}))
  test(`${name}: a task goes on in another process, with its finished steps`, async (t) => {
    const path = join(folderOf(t), 'steps.txt')
    const { client } = await start(t, await engineOf(t))
    const { result } = await client.ask('tools/call', { name: 'steps', arguments: { path }, task: {} })
    const { taskId } = (result as unknown as { task: { taskId: string } }).task
    await eventually(() => linesOf(path).length >= 3, patient)
    const [, pid] = String(linesOf(path)[0]).split(' ')
    process.kill(Number(pid), 'SIGKILL')
    const status = async (): Promise<string> => {
      const answer = await client.ask('tasks/get', { taskId }).catch(() => undefined)
      return String((answer?.result as { status?: string } | undefined)?.status)
    }
    await eventually(async () => (await status()) === 'completed', patient)
    const done = linesOf(path).map((line) => line.split(' '))
    assert.equal(new Set(done.map(([step]) => step)).size, 20)
    assert.ok(done.length <= 21, 'the step that was cut may be done twice, and no other')
    assert.is(new Set(done.map(([, worker]) => worker)).size, 2)
  })

test('files: sessions go on when the program has started again', async (t) => {
  const folder = folderOf(t)
  const first = await start(t, files({ folder }))
  assert.is(await first.client.text('count'), '1')
  const refused = await start(t, files({ folder })).catch((error) => error)
  assert.match(String(refused.message), /folder.*is locked/)
  await first.server.stop()
  const { server } = await start(t, files({ folder }))
  const client = new RawClient(t, server.url)
  client.sessionId = first.client.sessionId
  assert.is(await client.text('count'), '2')
})

test('redis: the processes of two programs serve the same sessions', async (t) => {
  const { url } = await startRedis(t)
  const [one, two] = await Promise.all([0, 1].map(() => start(t, redis({ url }))))
  assert.ok(one && two)
  assert.is(await one.client.text('count'), '1')
  const other = new RawClient(t, two.server.url)
  other.sessionId = one.client.sessionId
  assert.is(await other.text('count'), '2')
  await one.server.stop()
  await eventually(async () => (await other.text('count').catch(() => '')) === '3', patient)
})

test.run()

async function start(
  t: TestContext,
  engine: ServerEngine,
): Promise<{ readonly server: ServerProcesses; readonly client: RawClient }> {
  const server = await startServer(module, { transport: serveHttp(), processes: 2, logger: false, engine })
  t.after(() => server.stop())
  return { server, client: await new RawClient(t, server.url).open() }
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'caduceus-engines-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').trim().split('\n').filter(Boolean)
  } catch {
    return []
  }
}
