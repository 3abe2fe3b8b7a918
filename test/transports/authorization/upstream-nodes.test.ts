// second tier: redis
// time limit: 180 s
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { until } from 'caduceus/testing'
import { freePort } from '../../support/free-port.js'
import { redisTest, startRedis } from '../../support/redis.js'
import { suite, type TestContext } from '../../support/suite.js'
import { goThrough, member, names, startMail } from './_upstream.js'

const test = suite('logins at servers behind several gateways', { timeout: 120_000 })
const program = fileURLToPath(new URL('./_gateway-program.js', import.meta.url))

interface Node {
  readonly url: string
  readonly child: ChildProcess
}

async function startNode(t: TestContext, args: readonly string[]): Promise<Node> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  return { child, url: String(line).trim() }
}

redisTest(test, 'two users at three nodes call as themselves, through refreshes and a kill', async (t) => {
  const redis = await startRedis(t)
  const mail = await startMail(t, { accessToken: 4_000 })
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const args = [redis.url, mail.url, origin]
  const nodes = [
    await startNode(t, args),
    await startNode(t, [...args, String(port)]),
    await startNode(t, args),
  ]
  const [first, second, third] = nodes as [Node, Node, Node]

  // the node at which ada was asked is killed before she is back
  const asked = await member(t, first.url, 'ada').client.callTool('mail__sign_in')
  const [address = ''] = /http:\S+sign-in\/[\w-]+/.exec(JSON.stringify(asked)) ?? []
  const over = once(first.child, 'exit')
  first.child.kill('SIGKILL')
  await over
  mail.provider.user = { subject: 'ada-at-mail' }
  assert.match((await goThrough(address)).text, /You have signed in to mail/)

  const fourth = await startNode(t, args)
  const places = [second, third, fourth]
  const ofAda = places.map(({ url }) => member(t, url, 'ada').client)
  await ofAda[0]?.callTool('mail__sign_in')
  for (const client of ofAda)
    await until(async () => (await names(client)).includes('mail__whoami'), { timeout: 60_000 })
  mail.provider.user = { subject: 'bob-at-mail' }
  const bobs = places.map(({ url }) => member(t, url, 'bob', (page) => goThrough(page)))
  assert.is((await bobs[2]?.client.callTool('mail__whoami'))?.text, 'bob-at-mail')
  // nobody signs in any more: whoever is asked again is refused
  mail.provider.user = null
  const calls = async (): Promise<void> => {
    const all = [
      ...ofAda.map(async (client) => [(await client.callTool('mail__whoami')).text, 'ada-at-mail']),
      ...bobs.map(async ({ client }) => [(await client.callTool('mail__whoami')).text, 'bob-at-mail']),
    ]
    for (const [told, expected] of await Promise.all(all)) assert.is(told, expected)
  }
  await calls()
  // long enough for several refresh tokens, each of which is good once
  const before = mail.tokens.size
  while (mail.tokens.size < before + 4) await Promise.all([calls(), calls()])
  assert.is(bobs.flatMap(({ asked: pages }) => pages).length, 1, 'bob was asked once')
  // what is kept cannot be read there
  const kept = redis.cli('--scan').map((key) => key + redis.cli('--no-raw', 'dump', key).join(''))
  for (const token of mail.tokens) assert.not(kept.some((text) => text.includes(token)))
})

test.run()
