// second tier: redis
import { equal, is, match, not, ok } from 'uvu/assert'
import { inspect } from 'node:util'
import { redis, type RedisClusterOptions, type ServerError } from 'caduceus/server'
import { redisTest, startRedis, type TestRedis } from '../../support/redis.js'
import { suite, type TestContext } from '../../support/suite.js'
import { eventually } from '../nodes/_eventually.js'
import { openEngine } from '../nodes/_open-engine.js'

type Engine = Awaited<ReturnType<typeof openEngine>>['engine']
type ClaimRequest = Parameters<Engine['claim']>[0]

const test = suite('redis keys', { timeout: 15_000 })
const ttl = 60_000
const facts = { isRetiring: false, isSettled: false, sessions: 0, incarnation: 1, marks: [] }

redisTest(test, 'each key has an expiry and the prefix hash tag, and session keys go together', async (t) => {
  const server = await startRedis(t)
  const [a, b] = await nodes(t, server, { prefix: 'my.app' })
  const epoch = epochOf(await a.claim(claim('a', 's:1', { client: 'somebody' })))
  await a.save('a', 's:1', epoch, { text: 'text', version: 1, ttl })
  await a.touch(['s:1'], ttl * 2)
  await a.append({ session: 's:1', stream: 'x' }, [{ number: 1, text: 'one' }], { maxEntries: 10, ttl })
  await b.closeStream({ session: 's:1', stream: 'y' })
  await a.placeLog('log', 'a', ttl)
  await a.send('b', 'a', ['1', '2'], 10)
  await b.send('a', 'b', ['3'], 10)
  await a.takeBack('b', 'nobody')
  await a.publish('news')
  await b.reclaim(claim('b', 's2', { client: 'other' }), {
    epoch: 70,
    mayRestore: true,
    saved: { text: 'restored', version: 3, ttl },
  })
  const all = expiries(server)
  equal([...new Set([...all.keys()].map((key) => key.slice(0, 9)))], ['{my.app}:'])
  equal(
    [...all].filter(([, left]) => left <= 0 || left > 86_400_000),
    [],
  )
  ok(all.size >= 15, `${all.size} keys`)
  not.match([...all.keys()].join(), /somebody|other/)
  is(await a.delete('a', 's:1', epoch), true)
  equal(
    [...expiries(server).keys()].filter((key) => key.includes('s:1')),
    [],
  )
  await b.release('b', 's2', 70)
  equal(
    [...expiries(server).keys()].filter((key) => /:[oc]:/.test(key)),
    [],
  )
})

redisTest(test, 'clusters with other prefixes are separate', async (t) => {
  const server = await startRedis(t)
  const one = await nodes(t, server, { prefix: 'one' })
  const [other] = await nodes(t, server, { prefix: 'two' })
  epochOf(await one[0].claim(claim('a', 's')))
  epochOf(await other.claim(claim('c', 's')))
  is(await other.send('a', 'c', ['text'], 10), 'taken', 'its own a')
  equal(await one[0].take('a', 10), [])
})

redisTest(test, 'by default only nodes of the same server name form a cluster', async (t) => {
  const server = await startRedis(t)
  const { engine: tests } = await openEngine(t, redis({ url: server.url }), 'a')
  const { engine: named } = await openEngine(t, redis({ url: server.url }), 'b', 'files {of} 1')
  await tests.beat('a', ttl, facts)
  equal(
    (await named.beat('b', ttl, facts)).nodes.map(({ name }) => name),
    ['b'],
  )
  const bases = new Set([...expiries(server).keys()].map((key) => key.slice(0, key.indexOf('}') + 4)))
  equal([...bases].sort(), ['{caduceus:files%20%7Bof%7D%201}:1:', '{caduceus:tests}:1:'])
})

redisTest(test, 'what a program of another format has kept is neither read nor changed', async (t) => {
  const server = await startRedis(t)
  const [former, latter] = ['{caduceus:tests}:', '{caduceus:tests}:2:']
  for (const base of [former, latter]) {
    server.cli('HSET', `${base}s:session`, 'v', '7', 'owner', 'z')
    server.cli('HSET', `${base}nodes`, 'z', 'of another format')
  }
  const before = server.cli('KEYS', '*').sort()
  const [a] = await nodes(t, server)
  equal((await a.beat('a', ttl, facts)).nodes.map(({ name }) => name).sort(), ['a', 'b'])
  // with no room for others it asks whose a session is, and there is none
  equal(await a.claim(claim('a', 'session', { maxSessions: 0 })), { type: 'full', of: 'sessions' })
  for (const base of [former, latter]) equal(server.cli('HGET', `${base}s:session`, 'v'), ['7'])
  equal(
    server
      .cli('KEYS', '*')
      .filter((key) => !key.startsWith('{caduceus:tests}:1:'))
      .sort(),
    before,
  )
})

redisTest(test, 'a node without bells is told that its lease is short', async (t) => {
  const server = await startRedis(t)
  const [a] = await nodes(t, server)
  is((await a.beat('a', ttl, facts)).lease, ttl)
  // nobody listens for it
  is((await a.beat('deaf', ttl, facts)).lease, 1_000)
})

redisTest(test, 'a foreign key is not taken for a node', async (t) => {
  const server = await startRedis(t)
  const [a] = await nodes(t, server)
  const lease = `${Date.now() + ttl} ${ttl} `
  for (const [name, text] of ['{', 'null', '"text"', '{"isRetiring":1}'].entries())
    server.cli('HSET', '{caduceus:tests}:1:nodes', `junk-${name}`, lease + text)
  equal((await a.beat('a', ttl, facts)).nodes.map(({ name }) => name).sort(), ['a', 'b'])
})

redisTest(test, 'a session without events takes less than 1 KiB', async (t) => {
  const server = await startRedis(t)
  const [a] = await nodes(t, server)
  const count = 500
  const text = JSON.stringify({ id: 'x'.repeat(21), revision: '2025-11-25', state: 'y'.repeat(320) })
  for (let at = 0; at < count; at += 1) {
    const id = `${String(at).padStart(4, '0')}${'i'.repeat(17)}`
    const epoch = epochOf(await a.claim(claim('a', id, { client: `client ${at % 50}` })))
    await a.save('a', id, epoch, { text, version: 1, ttl })
  }
  const sum = eachKey(server, "'MEMORY', 'USAGE', key, 'SAMPLES', '0'").reduce(
    (sum, [, bytes]) => sum + bytes,
    0,
  )
  const perSession = Math.round(sum / count)
  console.log(`${perSession} bytes a session, of which ${text.length} are its record`)
  ok(perSession <= 1_024, `${perSession} bytes`)
})

redisTest(test, 'of concurrent claims by two nodes each session has one winner', async (t) => {
  const [a, b] = await nodes(t, await startRedis(t))
  const ids = Array.from({ length: 200 }, (_, at) => `s${at}`)
  const few = { client: 'one', maxSessions: 120, maxPerClient: 100 }
  const answers = await Promise.all(
    ids.flatMap((id) => [a.claim(claim('a', id, few)), b.claim(claim('b', id, few))]),
  )
  const won = answers.filter(({ type }) => type === 'claimed')
  is(won.length, 100)
  is(new Set(won.map((answer) => epochOf(answer))).size, 100)
  is(answers.filter(({ type }) => type === 'owned').length, 100)
})

redisTest(test, 'a node with very many sessions can leave', async (t) => {
  const [a, b] = await nodes(t, await startRedis(t))
  const ids = Array.from({ length: 1_200 }, (_, at) => `s${at}`)
  await Promise.all(ids.map((id) => a.claim(claim('a', id))))
  await a.touch(ids, ttl * 2)
  equal(await b.claim(claim('b', 'more', { maxSessions: 1_200 })), { type: 'full', of: 'sessions' })
  await a.leave('a')
  for (const id of ['s0', 's1199'])
    epochOf(await b.claim(claim('b', id, { maxSessions: 2, mayTakeOver: false })))
  equal(await b.claim(claim('b', 'more', { maxSessions: 2 })), { type: 'full', of: 'sessions' })
})

redisTest(test, 'a failover counts as a new run of the engine', async (t) => {
  const primary = await startRedis(t)
  const replica = await startRedis(t, { replicaOf: primary.port })
  const [a] = await nodes(t, primary)
  epochOf(await a.claim(claim('a', 's')))
  const { run } = await a.beat('a', ttl, facts)
  await eventually(() => replica.cli('EXISTS', '{caduceus:tests}:1:s:s')[0] === '1', 8_000)
  replica.cli('REPLICAOF', 'NO', 'ONE')
  const [promoted] = await nodes(t, replica)
  const { run: another } = await promoted.beat('a', ttl, facts)
  is.not(another, run)
  is(await promoted.reclaim(claim('a', 's'), { epoch: 1, mayRestore: false, saved: undefined }), true)
})

redisTest(test, 'a user with the documented rights is enough, also on Redis Cluster', async (t) => {
  const server = await startRedis(t, { args: ['--cluster-enabled', 'yes'] })
  server.cli('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await eventually(
    () => server.cli('CLUSTER', 'INFO').some((line) => line.startsWith('cluster_state:ok')),
    10_000,
  )
  const rights = ['+@read', '+@write', '+@scripting', '+@pubsub', '+@connection', '+info', '+time']
  server.cli(
    'ACL',
    'SETUSER',
    'mcp',
    'on',
    '>secret',
    '~{caduceus:tests}:*',
    '&{caduceus:tests}:*',
    ...rights,
  )
  const [a, b] = await nodes(t, server, { username: 'mcp', password: 'secret' })
  const epoch = epochOf(await a.claim(claim('a', 's', { client: 'somebody' })))
  const saved = { text: 'text', version: 1, ttl }
  is(await a.save('a', 's', epoch, saved), true)
  is(await a.reclaim(claim('a', 's'), { epoch, mayRestore: true, saved }), true)
  is(await b.load('s'), 'text')
  await a.touch(['s'], ttl)
  is(await a.send('b', 'a', ['one', 'two'], 10), 'taken')
  equal(await b.take('b', 1), ['one'])
  equal(await a.takeBack('b', 'a'), ['two'])
  is(await a.publish('news'), 1)
  is((await b.news(0)).last, 1)
  await a.placeLog('log', 'a', ttl)
  is(await b.placeOfLog('log'), 'a')
  const stream = { session: 's', stream: 'x' }
  is(await a.append(stream, [{ number: 1, text: 'one' }], { maxEntries: 10, ttl }), true)
  equal(await b.closeStream(stream), [{ number: 1, text: 'one' }])
  await a.dropStream(stream)
  is(await a.delete('a', 's', epoch), true)
  await a.release('a', 'unknown', 1)
  await b.leave('b')
})

test('Redis options are checked without showing secrets', () => {
  const url = 'redis://user:hidden@10.0.0.5:7000'
  const engine = redis({ url, keys: ['k'.repeat(32)], lease: 4_000, maxInbox: 7 })
  is(engine.name, 'redis 10.0.0.5:7000')
  equal(engine.settings, { lease: 4_000, keys: ['k'.repeat(32)], maxInbox: 7 })
  equal(redis({ url }).settings, { lease: 2_500, keys: undefined, maxInbox: 10_000 })
  const wrong: [object, string, RegExp][] = [
    [{ url: 'http://user:hidden@10.0.0.5' }, 'url', /expected redis:\/\/HOST:PORT/],
    [{ url, prefix: '{x}' }, 'prefix', /letters, digits/],
    [{ url, keys: [] }, 'keys', /32 characters/],
    [{ url, keys: ['hidden'] }, 'keys', /32 characters.*got 6 characters at index 0/],
    [{ url, keys: null }, 'keys', /got null/],
    [{ url: 'redis://u:%zz@10.0.0.9' }, 'url', /%25/],
    [{ url, lease: 10 }, 'lease', /1,000 to 60,000/],
    [{ url, maxInbox: 0 }, 'maxInbox', /above 0/],
    [{ url, password: 7 }, 'password', /non-empty/],
    [{ url, prefx: 'x' }, 'prefx', /prefix/],
  ]
  for (const [options, field, text] of wrong) {
    try {
      redis(options as { url: string })
    } catch (error) {
      const { code, message, data } = error as ServerError
      equal([code, data], ['BAD_OPTION', { field }])
      match(message, /^redis: /)
      match(message, text)
      not.match(inspect(error), /hidden/)
      continue
    }
    ok(false, `${field} was taken`)
  }
})

async function nodes(
  t: TestContext,
  server: TestRedis,
  more: Partial<RedisClusterOptions> = {},
): Promise<[Engine, Engine]> {
  const opened: Engine[] = []
  for (const name of ['a', 'b']) {
    const { engine } = await openEngine(t, redis({ url: server.url, ...more }), name)
    await engine.beat(name, ttl, facts)
    opened.push(engine)
  }
  return opened as [Engine, Engine]
}

function claim(node: string, session: string, more: Partial<ClaimRequest> = {}): ClaimRequest {
  const free = {
    lease: 2_500,
    client: undefined,
    ttl,
    maxSessions: 10_000,
    maxPerClient: 10_000,
    mayTakeOver: true,
  }
  return { node, session, ...free, ...more }
}

function epochOf(answer: Awaited<ReturnType<Engine['claim']>>): number {
  if (answer.type !== 'claimed') throw new Error(`not claimed: ${JSON.stringify(answer)}`)
  return answer.epoch
}

function expiries(server: TestRedis): Map<string, number> {
  return new Map(eachKey(server, "'PTTL', key"))
}

/** What a command answers for each key. */
function eachKey(server: TestRedis, command: string): [string, number][] {
  const one = `out[#out + 1] = key .. ' ' .. redis.call(${command})`
  const text = `local out = {} for _, key in ipairs(redis.call('KEYS', '*')) do ${one} end return out`
  return server.cli('EVAL', text, '0').map((line) => {
    const end = line.lastIndexOf(' ')
    return [line.slice(0, end), Number(line.slice(end + 1))]
  })
}

test.run()
