import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../support/suite.js'
import { RawClient, type Wire } from './_client.js'
import { makeFolder } from '../support/folder.js'

const test = suite('server whose program is killed', { timeout: 20_000 })
const program = fileURLToPath(new URL('./_wishes-program.js', import.meta.url))

/** Starts a program of its own on the folder; resolves when it serves. */
async function startProgram(t: TestContext, ...args: readonly string[]) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  return { child, url: String(line).trim() }
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  assert.is((await exited)[1], 'SIGKILL')
}

/** What the logs of a call were told at, and its result. */
async function levelsOf(client: RawClient): Promise<unknown[]> {
  const { messages } = await client.post({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'speak' },
  })
  return messages.map(({ params, result }) => params?.level ?? result?.content?.[0]?.text)
}

test('with files, log level and subscriptions of a client survive a kill', async (t) => {
  const folder = makeFolder(t)
  const first = await startProgram(t, folder)
  const client = await new RawClient(t, first.url).open('raw', '2025-06-18')
  const silent = await new RawClient(t, first.url).open()
  const wish = async (method: string, params: object) =>
    assert.equal((await client.ask(method, params)).result, {})
  await wish('resources/subscribe', { uri: 'news://a' })
  await wish('resources/subscribe', { uri: 'news://b' })
  await wish('resources/unsubscribe', { uri: 'news://b' })
  await wish('logging/setLevel', { level: 'warning' })
  await kill(first.child)

  const second = await startProgram(t, folder)
  const [same, other] = [client, silent].map(({ sessionId, revision }) => {
    const next = new RawClient(t, second.url)
    next.sessionId = sessionId
    next.revision = revision
    return next
  }) as [RawClient, RawClient]
  assert.equal(await levelsOf(same), ['warning', 'error', 'spoken'])
  assert.equal(await levelsOf(other), ['info', 'warning', 'error', 'spoken'])
  const stream = await same.listen()
  for (const uri of ['news://b', 'news://a']) await other.call('publish', { uri })
  let news: Wire
  do news = await stream.next()
  while (news.method !== 'notifications/resources/updated')
  assert.equal(news.params, { uri: 'news://a' })
  stream.close()
})

test.run()
