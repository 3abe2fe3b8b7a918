// second tier: redis
// time limit: 60 s
import { type ChildProcess, spawn } from 'node:child_process'
import * as assert from 'uvu/assert'
import { http, startClient } from 'caduceus'
import { redisTest, startRedis } from '../support/redis.js'
import { inRoot, root } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('README cluster', { timeout: 50_000 })

redisTest(test, 'a session continues over three nodes, also after a kill', async (t) => {
  const { url } = await startRedis(t)
  const nodes = await Promise.all(
    [1, 2, 3].map(() => start(t, [inRoot('.t', 'test', 'examples', 'cluster', 'node.js')], url)),
  )
  const ports = nodes.map((node) => new URL(node.url).port)
  const proxy = await start(t, [inRoot('scripts', 'run.mjs'), 'cluster/round-robin', '0', ...ports], url)
  await using client = startClient({ transport: http(proxy.url), logger: false })
  const counts: string[] = []
  for (let calls = 0; calls < 6; calls++) counts.push((await client.callTool('count')).text)
  assert.equal(counts, ['1', '2', '3', '4', '5', '6'])
  for (const { child } of nodes.slice(0, 2)) child.kill('SIGKILL')
  // which of them had the session is not known: a call that may have been made is told
  const later = Number((await client.callTool('count', {}, { retry: { attempts: 20, safe: true } })).text)
  assert.ok(later >= 7, `${later}`)
})

/** A program that writes its address once it listens. */
async function start(
  t: TestContext,
  args: readonly string[],
  redisUrl: string,
): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [...args], {
    cwd: root,
    env: { ...process.env, PORT: '0', REDIS_URL: redisUrl },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const url = await new Promise<string>((resolve) =>
    child.stdout.once('data', (line) => resolve(String(line).trim())),
  )
  return { url, child }
}

test.run()
