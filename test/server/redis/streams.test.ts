// second tier: redis
// time limit: 180 s
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { equal, is, ok } from 'uvu/assert'
import { redisTest, startRedis, type TestRedis } from '../../support/redis.js'
import { suite, type TestContext } from '../../support/suite.js'
import { exchange, type Reading } from '../../transports/_listener.js'
import { RawClient } from '../_client.js'

const test = suite('event streams of nodes on Redis', { timeout: 40_000 })
const program = fileURLToPath(new URL('./_stream-program.js', import.meta.url))

redisTest(test, 'a long call resumes on any node without loss, repetition or disorder', async (t) => {
  const { nodes, sessionId } = await startNodes(t)
  const seen = new Seen()
  let reading = await steps(t, nodes[0] as Node, sessionId, { count: 60, every: 20 })
  for (let turn = 1; !(await seen.read(reading, 9)); turn += 1) {
    reading.cut()
    reading = await resume(t, nodes[turn % 3] as Node, sessionId, seen.lastId)
    is(reading.status, 200)
  }
  equal(seen.progress, upTo(60))
  is(seen.text, '60 steps')
})

redisTest(test, 'a client whose second node is killed resumes at a third', async (t) => {
  const { nodes, sessionId } = await startNodes(t)
  const [one, two, three] = nodes as [Node, Node, Node]
  const seen = new Seen()
  const first = await steps(t, one, sessionId, { count: 100, every: 20 })
  await seen.read(first, 5)
  first.cut()
  const second = await resume(t, three, sessionId, seen.lastId)
  await seen.read(second, 5)
  await kill(three)
  await seen.read(second)
  const third = await resume(t, two, sessionId, seen.lastId)
  await seen.read(third)
  equal(seen.progress, upTo(100))
  is(seen.text, '100 steps')
})

redisTest(test, 'a request whose node is killed gets a retryable error on every other node', async (t) => {
  const { nodes, sessionId } = await startNodes(t)
  const [one, two, three] = nodes as [Node, Node, Node]
  const seen = new Seen()
  const first = await steps(t, one, sessionId, { count: 1_000, every: 20 })
  await seen.read(first, 10)
  const [id] = seen.ids
  await kill(one)
  await seen.read(first)
  const second = await resumeSoon(t, three, sessionId, seen.lastId)
  await seen.read(second)
  equal(seen.progress, upTo(seen.progress.length))
  equal(seen.error, { code: -32603, data: { retryable: true } })
  // the same once more from the start, elsewhere
  const again = new Seen()
  await again.read(await resumeSoon(t, two, sessionId, String(id)))
  // but for what the dead node had sent, and not written yet
  const kept = again.progress.length
  ok(kept >= 5, `${kept} kept`)
  equal([again.progress, again.error], [seen.progress.slice(1, kept + 1), seen.error])
  is(again.ids.at(-1), seen.ids.at(-1))
})

redisTest(
  test,
  'a GET stream resumes elsewhere after a kill, with the last event of the session',
  async (t) => {
    const { nodes, sessionId } = await startNodes(t)
    const [one, two, three] = nodes as [Node, Node, Node]
    const client = new RawClient(t, two.url)
    client.sessionId = sessionId
    await client.ask('resources/subscribe', { uri: 'news://a' })
    const seen = new Seen()
    // a node that had too little time for its lease ends the stream: the client comes back
    const readUpdate = async (from: Reading, node: Node): Promise<Reading> => {
      let current = from
      do {
        const { length } = seen.methods
        await seen.read(current, 1)
        if (seen.methods.length === length) current = await resumeSoon(t, node, sessionId, seen.lastId)
      } while (seen.methods.at(-1) !== 'notifications/resources/updated')
      return current
    }
    let reading = await get(t, one, sessionId)
    await client.call('publish')
    reading = await readUpdate(reading, one)
    for (const [dead, next] of [
      [one, three],
      [three, two],
    ] as const) {
      await kill(dead)
      await seen.read(reading)
      // the session tells the dead node, as nobody has noticed yet
      await client.call('publish')
      reading = await readUpdate(await resumeSoon(t, next, sessionId, seen.lastId), next)
    }
    await client.call('publish')
    await readUpdate(reading, two)
    is(new Set(seen.ids).size, seen.ids.length)
  },
)

redisTest(test, 'event ids that are foreign or were never given are refused', async (t) => {
  const { nodes, sessionId } = await startNodes(t)
  const [one, two] = nodes as [Node, Node]
  const seen = new Seen()
  const reading = await steps(t, one, sessionId, { count: 2, every: 10 })
  await seen.read(reading)
  const other = await new RawClient(t, two.url).open()
  const foreign = await resume(t, two, String(other.sessionId), seen.lastId)
  is(foreign.status, 400)
  is((await resume(t, two, 'no such session', seen.lastId)).status, 404)
  const [name] = String(seen.lastId).split(/\.\d+$/)
  is((await resume(t, two, sessionId, `${name}.999`)).status, 400)
  is((await resume(t, two, sessionId, seen.ids[0])).status, 200)
})

redisTest(test, 'stream bytes in Redis are bounded and deleted with the session', async (t) => {
  const { nodes, sessionId, redis } = await startNodes(t, { maxEvents: 1_000, maxBytes: 20_000 })
  const [one, two] = nodes as [Node, Node]
  const seen = new Seen()
  const reading = await steps(t, one, sessionId, { count: 40, every: 10, size: 2_000 })
  await seen.read(reading, 39)
  await kill(one)
  const late = await resumeSoon(t, two, sessionId, seen.ids[0])
  is(late.status, 400)
  const entries = redis.cli('--scan', '--pattern', '*').filter((key) => redis.cli('TYPE', key)[0] === 'list')
  const size = entries.reduce((sum, key) => sum + redis.cli('LRANGE', key, '0', '-1').join('').length, 0)
  ok(size > 5_000 && size < 40_000, `${size} bytes`)
  for (const key of redis.cli('--scan', '--pattern', '*')) ok(Number(redis.cli('PTTL', key)[0]) > 0, key)
  const client = new RawClient(t, two.url)
  client.sessionId = sessionId
  await client.send('DELETE', undefined, client.headers())
  const left = redis.cli('--scan', '--pattern', '*').filter((key) => key.includes(sessionId))
  equal(left, [])
})

interface Node {
  readonly child: ChildProcess
  readonly url: string
}

/** Three programs, and a session that runs on the second one. */
async function startNodes(
  t: TestContext,
  resuming: object = {},
): Promise<{ nodes: readonly Node[]; sessionId: string; redis: TestRedis }> {
  const redis = await startRedis(t)
  const nodes = await Promise.all([1, 2, 3].map(() => startNode(t, redis.url, resuming)))
  const client = await new RawClient(t, nodes[1]?.url).open()
  return { nodes, sessionId: String(client.sessionId), redis }
}

async function startNode(t: TestContext, ...[url, resuming]: [string, object]): Promise<Node> {
  const args = [program, url, JSON.stringify(resuming)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  return { child, url: String(line).trim() }
}

async function kill({ child }: Node): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

function steps(t: TestContext, { url }: Node, sessionId: string, args: object): Promise<Reading> {
  const params = { name: 'steps', arguments: args, _meta: { progressToken: 'p' } }
  const body = { jsonrpc: '2.0', id: 7, method: 'tools/call', params }
  return exchange(t, url, { body, headers: { 'mcp-session-id': sessionId } })
}

function get(t: TestContext, { url }: Node, sessionId: string): Promise<Reading> {
  return exchange(t, url, { method: 'GET', headers: { 'mcp-session-id': sessionId } })
}

function resume(t: TestContext, { url }: Node, sessionId: string, id: string | undefined): Promise<Reading> {
  const headers = { 'mcp-session-id': sessionId, 'last-event-id': String(id) }
  return exchange(t, url, { method: 'GET', headers })
}

/** As a client does: a refusal that asks for patience is followed by another try. */
async function resumeSoon(
  t: TestContext,
  node: Node,
  ...[sessionId, id]: [string, string | undefined]
): Promise<Reading> {
  for (;;) {
    const reading = await resume(t, node, sessionId, id)
    if (reading.status !== 503) return reading
    await reading.ended
  }
}

/** What a client has seen of one stream, over all of its connections. */
class Seen {
  readonly ids: string[] = []
  readonly progress: number[] = []
  readonly methods: string[] = []
  lastId: string | undefined
  text: string | undefined
  error: { readonly code: number; readonly data: unknown } | undefined

  /** Reads so many messages, or to the end; true once there is an answer. */
  async read(reading: Reading, count = Number.POSITIVE_INFINITY): Promise<boolean> {
    for (let read = 0; read < count; ) {
      // what came with the end is read first
      const over = reading.ended.then(() => turn(undefined))
      const event = await Promise.race([reading.next(), over])
      if (event === undefined) break
      this.lastId = event.id ?? this.lastId
      if (event.data === '') continue
      read += 1
      this.ids.push(String(event.id))
      this.#note(JSON.parse(event.data))
    }
    return this.text !== undefined || this.error !== undefined
  }

  #note({ method, params, result, error }: Said): void {
    if (method === 'notifications/progress') this.progress.push(Number(params?.progress))
    if (method !== undefined) this.methods.push(method)
    if (result !== undefined) this.text = result.content?.[0]?.text
    if (error !== undefined) this.error = { code: error.code, data: error.data }
  }
}

interface Said {
  readonly method?: string
  readonly params?: { readonly progress?: number }
  readonly result?: { readonly content?: readonly { readonly text: string }[] }
  readonly error?: { readonly code: number; readonly data: unknown }
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

test.run()
