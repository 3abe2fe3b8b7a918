// second tier: redis
// time limit: 180 s
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { redis, type Server, type ServerOptions, startServer } from 'caduceus/server'
import { until } from 'caduceus/testing'
import { serveHttp } from 'caduceus/transports'
import { noRedis, startRedis } from '../../support/redis.js'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient, type Stream, type Wire } from '../_client.js'
import { eventually, startCluster, startFake, type WayTo } from '../nodes/_servers.js'
import { posted } from '../_stateless.js'
import { inTurns, memorySessions } from '../engine/_file-store.js'
import { makeFolder } from '../../support/folder.js'
import moving from './_moving-definition.js'

const test = suite('what a client is owed while its session moves', { timeout: 40_000 })

/** A server whose sessions move. */
interface Place {
  /** Where the client is before. */
  readonly url: string
  /** Has the session move, and `meanwhile` done where a server is there while it runs nowhere; answers where it is. */
  move(client: RawClient, meanwhile: (url: string) => Promise<void>): Promise<string>
  heal?(): void
}

/**
 * How a session moves. `forgets`: nobody has its client's wishes any more, as the page says. `stays`: it does not
 * move after all.
 */
interface Way {
  readonly name: string
  readonly forgets?: boolean
  readonly stays?: boolean
  start(t: TestContext): Promise<Place>
}

const key = 'a secret of the tests, and of nobody else'
const module = new URL('./_moving-definition.js', import.meta.url)
const program = fileURLToPath(new URL('./_moving-program.js', import.meta.url))

/** In the same program. */
function within(name: string, end: (server: Server) => Promise<void>): Way {
  return {
    name,
    async start(t) {
      const server = await startHere(t)
      const url = String(server.url)
      return {
        url,
        async move(_client, meanwhile) {
          await end(server)
          await meanwhile(url)
          return url
        },
      }
    },
  }
}

/** From one program to the next. */
function next(name: string, signal: NodeJS.Signals, how: 'files' | 'sealed'): Way {
  return {
    name: `${name}, ${how}`,
    forgets: how === 'sealed',
    async start(t) {
      const args = how === 'files' ? [makeFolder(t)] : ['', key]
      const first = await startProgram(t, args)
      return {
        url: first.url,
        async move(_client, meanwhile) {
          const ended = once(first.child, 'exit')
          first.child.kill(signal)
          await ended
          const { url } = await startProgram(t, args)
          await meanwhile(url)
          return url
        },
      }
    },
  }
}

type Processes = Awaited<ReturnType<typeof startProcesses>>

/** From one process of a server to another. */
function between(name: string, end: (server: Processes, pid: number) => Promise<void>): Way {
  return {
    name,
    async start(t) {
      const server = await startProcesses(t)
      const url = String(server.url)
      return {
        url,
        async move(client, meanwhile) {
          const pid = Number(await client.text('pid'))
          await end(server, pid)
          await meanwhile(url)
          return url
        },
      }
    },
  }
}

const brisk = { timeouts: { drain: 1_000 } }

type Nodes = readonly [Server, Server]

/** From one node of a cluster to another. */
function amongNodes(
  name: string,
  wayTo: (t: TestContext) => Promise<WayTo>,
  end: (nodes: Nodes) => Promise<unknown>,
): Way {
  return {
    name,
    async start(t) {
      const nodes = (await startCluster(t, await wayTo(t), [moving, moving], brisk)) as unknown as Nodes
      await eventually(async () => (await fetch(new URL('/readyz', nodes[1].url))).status === 200)
      return {
        url: String(nodes[0].url),
        async move(_client, meanwhile) {
          const url = String(nodes[1].url)
          const ended = end(nodes)
          // at once, and once more when it has gone
          await meanwhile(url)
          await ended
          await meanwhile(url)
          return url
        },
      }
    },
  }
}

const fake = async (): Promise<WayTo> => startFake({ lease: 2_500 }).wayTo
const overRedis = async (t: TestContext): Promise<WayTo> => {
  const { url } = await startRedis(t)
  return () => redis({ url })
}

const ways: Way[] = [
  within('its actor crashes', async (server) => {
    for (const { ref } of await server.sessions()) ref?.kill()
  }),
  within('its group is restarted', async ({ registry }) => {
    const back = until('progress', ({ child }) => child.id === 'transport')
    registry.whereis('moving/base')?.kill()
    await back
  }),
  next('its program is stopped', 'SIGTERM', 'files'),
  next('its program is killed', 'SIGKILL', 'files'),
  next('its program is stopped', 'SIGTERM', 'sealed'),
  next('its program is killed', 'SIGKILL', 'sealed'),
  between('its process is killed', async (_server, pid) => void process.kill(pid, 'SIGKILL')),
  between('its process is frozen', async (server, pid) => {
    const frozen = await server.processes()
    process.kill(pid, 'SIGSTOP')
    await until(() => frozen.some((ref) => !ref.alive), { timeout: 20_000 })
  }),
  between('its process is replaced', (server) => server.reload()),
  amongNodes('its node is stopped', fake, ([first]) => first.stop()),
  amongNodes('its node is killed', fake, async ([first]) => first.ref.kill()),
  {
    name: 'its node is out of reach for longer than its lease',
    async start(t) {
      const { engine, wayTo } = startFake({ lease: 2_500 })
      const [first, second] = (await startCluster(t, wayTo, [moving, moving], brisk)) as unknown as Nodes
      return {
        url: String(first.url),
        async move(_client, meanwhile) {
          engine.cut('machine 0')
          await meanwhile(String(second.url))
          return String(second.url)
        },
        heal: () => engine.heal('machine 0'),
      }
    },
  },
  {
    name: 'its node is out of reach, and keeps it',
    stays: true,
    async start(t) {
      const { engine, wayTo } = startFake()
      const [first, second] = (await startCluster(t, wayTo, [moving, moving], brisk)) as unknown as Nodes
      return {
        url: String(first.url),
        async move(_client, meanwhile) {
          engine.cut('machine 0')
          await meanwhile(String(second.url))
          engine.heal('machine 0')
          return String(first.url)
        },
      }
    },
  },
  ...(noRedis === undefined
    ? [
        amongNodes('its node is stopped, over Redis', overRedis, ([first]) => first.stop()),
        amongNodes('its node is killed, over Redis', overRedis, async ([first]) => first.ref.kill()),
      ]
    : []),
]

for (const { name, start, forgets = false, stays = false } of ways)
  test(`a moved session delivers when ${name}`, async (t) => {
    const place = await start(t)
    const client = await new RawClient(t, place.url).open()
    await client.ask('resources/subscribe', { uri: 'news://wanted' })
    await client.ask('resources/subscribe', { uri: 'news://unwanted' })
    await client.ask('resources/unsubscribe', { uri: 'news://unwanted' })
    await client.ask('logging/setLevel', { level: 'warning' })
    const unread = await new RawClient(t, place.url).open('does not read')
    await unread.ask('resources/subscribe', { uri: 'news://wanted' })
    const lost = await listen(unread)
    lost.pause()
    await publish(t, place.url)
    // its record says from now on that it was told
    await unread.text('keep')
    const modern = await subscribe(t, place.url)
    const url = await place.move(client, async (at) => void (await publish(t, at)))

    const owed = forgets ? ['tools'] : ['tools', 'news://wanted']
    const same = await back(t, url, client)
    const stream = await listen(same)
    const told = await tellsOf(stream, owed)
    if (!stays) {
      lost.close()
      const again = await listen(await back(t, url, unread))
      await tellsOf(again, owed)
      again.close()
    }
    // a stream without a session has ended, so that its client looks again, or is told
    await place.heal?.()
    await Promise.race([modern.ended, tellsOf(modern, ['tools', 'news://wanted']).catch(() => modern.ended)])
    modern.close()
    if (!forgets) {
      assert.equal(await levelsOf(same), ['warning', 'error'])
      // it is subscribed still
      await publish(t, url)
      for (const uri of await tellsOf(stream, owed)) told.add(uri)
    }
    assert.not.ok(told.has('news://unwanted'))
    stream.close()
  })

test('subscriptions and changes: several programs take turns with one store', async (t) => {
  const engine = inTurns(memorySessions())
  const [first, second] = [await startHere(t, { engine }), await startHere(t, { engine })]
  const client = await new RawClient(t, first.url).open()
  const elsewhere = new RawClient(t, second.url)
  elsewhere.sessionId = client.sessionId
  await elsewhere.text('keep')
  await client.ask('resources/subscribe', { uri: 'news://wanted' })
  // the second program has the session, and does not know of its subscription yet
  await second.resourceUpdated('news://wanted')
  const stream = await elsewhere.listen()
  await tellsOf(stream, ['news://wanted'])
  stream.close()
})

test.run()

async function startHere(t: TestContext, options: Partial<ServerOptions> = {}): Promise<Server> {
  const server = await startServer(moving, {
    transport: serveHttp(),
    timeouts: { drain: 1_000 },
    logger: false,
    ...options,
  })
  t.after(() => server.stop())
  return server
}

async function startProgram(t: TestContext, args: readonly string[]) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  return { child, url: String(line).trim() }
}

async function startProcesses(t: TestContext) {
  const options = {
    transport: serveHttp(),
    processes: 2,
    blockedTimeout: 500,
    timeouts: { drain: 1_000 },
    logger: false as const,
  }
  const server = await startServer(module, options)
  t.after(() => server.stop())
  return server
}

/** Another client changes what there is. */
async function publish(t: TestContext, url: string): Promise<void> {
  await eventually(async () => {
    try {
      return (await (await new RawClient(t, url).open('other')).text('publish')) === 'published'
    } catch {
      return false // it is between two servers
    }
  }, 15_000)
}

/** The same client on new connections, as soon as its session is served. */
async function back(t: TestContext, url: string, { sessionId }: RawClient): Promise<RawClient> {
  const same = new RawClient(t, url)
  same.sessionId = sessionId
  await eventually(async () => {
    const ping = { jsonrpc: '2.0', id: 'ping', method: 'ping' }
    return (await same.post(ping).catch(() => ({ status: 0 }))).status === 200
  }, 15_000)
  return same
}

async function listen(client: RawClient): Promise<Stream> {
  let stream = await client.listen()
  await eventually(async () => {
    if (stream.status === 200) return true
    stream = await client.listen()
    return false
  })
  return stream
}

async function subscribe(t: TestContext, url: string): Promise<Stream> {
  const notifications = { toolsListChanged: true, resourceSubscriptions: ['news://wanted'] }
  const { body, headers } = posted('subscriptions/listen', { notifications })
  const modern = new RawClient(t, url)
  modern.own = headers
  const stream = await modern.stream(body)
  assert.is((await stream.next()).method, 'notifications/subscriptions/acknowledged')
  return stream
}

/** Reads on until all of these were told; answers what was told. */
async function tellsOf(stream: Stream, wanted: readonly string[]): Promise<Set<string>> {
  const told = new Set<string>()
  while (!wanted.every((one) => told.has(one))) told.add(whatOf(await stream.next()))
  return told
}

function whatOf({ method, params }: Wire): string {
  if (method === 'notifications/tools/list_changed') return 'tools'
  return method === 'notifications/resources/updated' ? String(params?.uri) : String(method)
}

async function levelsOf(client: RawClient): Promise<unknown[]> {
  const call = { jsonrpc: '2.0', id: 'speak', method: 'tools/call', params: { name: 'speak' } }
  const { messages } = await client.post(call)
  return messages.flatMap(({ method, params }) => (method === 'notifications/message' ? [params?.level] : []))
}
