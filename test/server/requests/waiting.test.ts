import * as assert from 'uvu/assert'
import { defineServer, defineTool, type ServerOptions, startServer } from 'caduceus/server'
import { crash } from 'caduceus/testing'
import { serveHttp } from 'caduceus/transports'
import type { holdingsActor } from '../../../server/holdings/holdings-actor.js'
import { namesOf } from '../../../server/base/names.js'
import { WaitingLine } from '../../../server/base/waiting-line.js'
import { rejection } from '../../client/_raw.js'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { posted } from '../_stateless.js'

const test = suite('requests that wait for their turn')

/** A server with a tool that ends when it is told to, by the name that it was called with. */
async function start(t: TestContext, options: Partial<ServerOptions> = {}) {
  const begun = heard<string>()
  const ends = new Map<string, () => void>()
  const work = defineTool({
    name: 'work',
    input: { type: 'object', properties: { as: { type: 'string' } }, required: ['as'] },
    timeout: 60_000,
    async run({ as }, { signal }) {
      begun.add(as)
      await new Promise<void>((resolve) => {
        ends.set(as, resolve)
        signal.addEventListener('abort', () => resolve())
      })
      return as
    },
  })
  const definition = defineServer({ name: 'slow', version: '1', tools: [work] })
  const limits = { requests: 2, statelessRequests: 2, waiting: 3 }
  const server = await startServer(definition, { transport: serveHttp(), logger: false, limits, ...options })
  t.after(() => server.stop())
  const client = await new RawClient(t, server.url).open()
  const call = (as: string) => client.call('work', { as }, as)
  return { server, client, call, begun, end: (as: string) => ends.get(as)?.() }
}

/** Until so many requests of the one session wait. */
async function untilWaiting(
  server: Awaited<ReturnType<typeof start>>['server'],
  count: number,
): Promise<void> {
  for (;;) {
    const [session] = await server.sessions()
    if (session?.waiting === count) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('requests beyond the limit wait in order, and one too many is told to retry', async (t) => {
  const { server, client, call, begun, end } = await start(t)
  const answers: Promise<unknown>[] = []
  for (const [place, as] of ['a', 'b', 'c', 'd', 'e'].entries()) {
    answers.push(call(as))
    if (place < 2) assert.is(await begun.next(), as)
    else await untilWaiting(server, place - 1)
  }
  const { error } = await client.call('work', { as: 'f' }, 'f')
  assert.is(error?.code, 429)
  assert.equal(error?.data, { retryable: true })
  assert.match(
    String(error?.message),
    /2 of a session are at work \(limits\.requests\), and 3, or 64 MiB, may wait/,
  )
  // never behind the others
  assert.equal((await client.ask('ping')).result, {})
  assert.is((await client.list()).length, 1)
  for (const [ended, next] of [
    ['a', 'c'],
    ['c', 'd'],
    ['b', 'e'],
  ] as const) {
    end(ended)
    assert.is(await begun.next(), next)
  }
  end('d')
  end('e')
  await Promise.all(answers)
})

test('a waiting request can be cancelled and never begins', async (t) => {
  const { server, client, call, begun, end } = await start(t)
  const answers = [call('a'), call('b')]
  await begun.next()
  await begun.next()
  const cancelled = client.post({
    jsonrpc: '2.0',
    id: 'c',
    method: 'tools/call',
    params: { name: 'work', arguments: { as: 'c' } },
  })
  await untilWaiting(server, 1)
  const last = call('d')
  await untilWaiting(server, 2)
  await client.tell('notifications/cancelled', { requestId: 'c' })
  assert.is((await cancelled).status, 202)
  await untilWaiting(server, 1)
  end('a')
  assert.is(await begun.next(), 'd')
  end('b')
  end('d')
  await Promise.all([...answers, last])
})

test('waiting requests are told to retry when their session or the group ends', async (t) => {
  for (const part of ['session', 'tasks'] as const) {
    const { server, call, begun } = await start(t)
    const answers = ['a', 'b', 'c', 'd'].map((as) =>
      call(as).then(
        ({ error }) => error,
        () => undefined,
      ),
    )
    await begun.next()
    await begun.next()
    await untilWaiting(server, 2)
    const [session] = await server.sessions()
    if (part === 'session' && session !== undefined) await crash(session)
    else await crash(server, { part: 'tasks' })
    // of a group that goes down, a response may be without a body
    for (const error of await Promise.all(answers)) if (error !== undefined) assert.is(error.code, -32603)
    assert.equal(begun.all.length, 2)
  }
})

test('an ending group frees the room of its waiting requests', async (t) => {
  const { server, client, call, begun } = await start(t)
  const holdings = server.registry.named<typeof holdingsActor>(namesOf('slow').holdings)
  const { waiting } = await holdings.call('share')
  const agentless = (as: string) => {
    const { body, headers } = posted('tools/call', { name: 'work', arguments: { as } })
    return client.post(body, { ...headers, 'mcp-session-id': '' })
  }
  for (const part of ['transport', 'tasks'] as const) {
    const answers = ['a', 'b', 'c'].flatMap((as) => [call(`${part} ${as}`), agentless(`${part} ${as}`)])
    for (let i = 0; i < 4; i++) await begun.next()
    while (waiting.bytes < 2 * 1_024) await new Promise((resolve) => setImmediate(resolve))
    await crash(server, { part })
    await Promise.allSettled(answers)
    // callers may hear of the end before all of the group has gone; what stays for ever is the test's
    // deadline
    while (waiting.bytes > 0) await new Promise((resolve) => setImmediate(resolve))
    assert.is(waiting.bytes, 0, part)
  }
})

test('the timeout of a call starts when it begins, not while it waits', async (t) => {
  const { server, call, begun, end } = await start(t, { timeouts: { request: 60_000 } })
  const answers = ['a', 'b'].map(call)
  await begun.next()
  await begun.next()
  const third = call('c')
  await untilWaiting(server, 1)
  end('a')
  end('b')
  assert.is(await begun.next(), 'c')
  end('c')
  await Promise.all(answers)
  assert.is((await third).result?.content?.[0]?.text, 'c')
})

test('without sessions requests wait too; a leaver waits no more; one too many is 503', async (t) => {
  const { client, begun, end } = await start(t)
  const ask = (as: string) => {
    const leaves = new AbortController()
    const { body, headers } = posted('tools/call', { name: 'work', arguments: { as } })
    const init = { method: 'POST', body: JSON.stringify(body), signal: leaves.signal }
    const answer = fetch(client.url, { ...init, headers: { ...client.headers(), ...headers } })
    return {
      as,
      leaves,
      answer: answer.then(async (one) => ({ status: one.status, body: await one.text() })),
    }
  }
  const running = [ask('a'), ask('b')]
  await begun.next()
  await begun.next()
  // once one is refused, the three others wait
  const sent = ['c', 'd', 'e', 'f'].map(ask)
  const refusals = sent.map(async ({ as, answer }) => {
    const { status, body } = await answer
    if (status !== 503) throw new Error('served')
    assert.equal(JSON.parse(body).error.data, { retryable: true })
    return as
  })
  const refused = await Promise.any(refusals)
  const [leaver, ...waiting] = sent.filter(({ as }) => as !== refused)
  leaver?.leaves.abort()
  assert.is((await rejection(leaver?.answer ?? Promise.resolve())).name, 'AbortError')
  for (const { as } of running) end(as)
  const answered = Promise.all([...running, ...waiting].map(({ answer }) => answer))
  let isOver = false
  void answered.then(() => {
    isOver = true
    begun.add('over')
  })
  // the leaver may begin, where the server has not heard yet
  while (!isOver) end(await begun.next())
  const texts = (await answered).map(({ body }) => body.match(/"text":"(\w+)"/)?.[1])
  assert.equal(
    texts,
    [...running, ...waiting].map(({ as }) => as),
  )
})

test('limits that are no whole numbers are refused in the options', async () => {
  const definition = defineServer({ name: 'x', version: '1', tools: [] })
  for (const field of [
    'pageSize',
    'requests',
    'waiting',
    'statelessRequests',
    'sessions',
    'sessionsPerClient',
    'subscriptions',
    'parked',
  ]) {
    const limits = { [field]: 0.5 }
    const failed = await startServer(definition, { transport: serveHttp(), limits }).catch((error) => error)
    assert.equal([failed.code, failed.data.field], ['BAD_OPTION', `limits.${field}`])
  }
})

test('a queue keeps order per client, takes turns and bounds requests and bytes', () => {
  const all = { bytes: 0 }
  const line = new WaitingLine<string>(3, all)
  const request = (size: number) =>
    ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { text: 'x'.repeat(size) } }) as const
  for (const item of ['a1', 'a2', 'a3']) assert.ok(line.add(item, request(1), 'a'))
  assert.not.ok(line.add('a4', request(1), 'a'))
  assert.ok(line.add('b1', request(1), 'b'))
  assert.equal([line.take(), line.take(), line.take()], ['a1', 'b1', 'a2'])
  assert.ok(line.delete('a3', 'a'))
  assert.not.ok(line.delete('a3', 'a'))
  assert.equal([line.size, line.take(), all.bytes], [0, undefined, 0])
  const mib = 1024 * 1024
  assert.ok(line.add('big', request(40 * mib), 'a'))
  assert.not.ok(line.add('too big', request(30 * mib), 'a'))
  assert.ok(line.add('of another', request(30 * mib), 'b'))
  all.bytes += 190 * mib
  assert.not.ok(line.add('of a third', request(30 * mib), 'c'))
  all.bytes -= 190 * mib
  line.clear()
  const taken = 1024 + '{"text":""}'.length
  assert.ok(line.add('half', request(32 * mib - taken)))
  assert.not.ok(line.add('more than the other half', request(32 * mib - taken + 1)))
  assert.ok(line.add('the other half', request(32 * mib - taken)))
  all.bytes += 191 * mib
  assert.not.ok(line.add('more than the rest', request(mib - taken + 1), 'b'))
  assert.ok(line.add('the rest', request(mib - taken), 'b'))
  all.bytes -= 191 * mib
  line.clear()
  assert.equal([line.size, all.bytes, line.take()], [0, 0, undefined])
})

test('what a request takes is found in about the time in which it is written', () => {
  const params = { a: Array.from({ length: 249_000 }, (_, n) => n % 10) }
  const timeOf = (work: () => unknown): number => {
    const since = performance.now()
    work()
    return performance.now() - since
  }
  let least = Infinity
  // Both are timed side by side until one pair shows it: another program may take the processor from either.
  for (let pair = 0; pair < 50 && least >= 5; pair++) {
    const written = timeOf(() => JSON.stringify(params))
    const found = timeOf(() => new WaitingLine<string>(1, { bytes: 0 }).add('one', { params }))
    least = Math.min(least, found / written)
  }
  assert.ok(least < 5, `${least} times as long`)
})

test.run()
