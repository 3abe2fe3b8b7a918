// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { request } from 'node:http'
import { Agent, EventSource, fetch } from 'undici'
import { createFakeClock } from 'caduceus/runtime'
import type { Server } from 'caduceus/server'
import { serveHttp, serveSse } from 'caduceus/transports'
import { initialize, RawClient } from '../../../server/_client.js'
import { heard } from '../../../support/heard.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { startSuiteServer } from '../../_suite-server.js'

/** Nothing happens for ten minutes: on the server's clock, and in proportion to what clients wait for. */
const test = suite('idle streams', { timeout: 20_000 })

/** A client that reads a stream in its own way. */
interface Reader {
  /** Resolves with the next comment, or right away for who cannot see them. */
  comment(): Promise<unknown>
  /** Resolves once a message has come that the server wrote. */
  message(): Promise<unknown>
  /** Why the stream has ended, as soon as it has. */
  readonly ended: () => string | undefined
}

type Open = (t: TestContext, client: RawClient, patience: number) => Promise<Reader>

const readers: readonly Open[] = [withNodeHttp, withUndici]

for (const open of readers)
  test(`a quiet GET stream survives ten minutes: ${open.name.slice(4)}`, async (t) => {
    const clock = createFakeClock()
    const server = await startSuiteServer(serveHttp(), { clock })
    t.after(() => server.stop())
    const client = await new RawClient(t, server.url).open()
    const reader = await open(t, client, 300_000)
    // the first of its events was no comment
    await clock.advance(15_000)
    for (let time = 0; time < 600_000; time += 15_000) {
      await clock.advance(15_000)
      await reader.comment()
    }
    await staysGood(reader, client, () => clock.advance(1_000))
    assert.is((await server.sessions()).length, 1)
  })

test('a quiet EventSource survives ten minutes', async (t) => {
  const clock = createFakeClock()
  const server = await startSuiteServer(serveSse(), { clock })
  t.after(() => server.stop())
  const source = await openSource(t, server, 300_000)
  for (let time = 0; time < 600_000; time += 15_000) await clock.advance(15_000)
  await source.ping()
  assert.equal(source.errors, [])
})

for (const open of readers)
  test(`comments keep a client from its timeout: ${open.name.slice(4)}`, async (t) => {
    const start = async (commentInterval: number) => {
      const server = await startSuiteServer(serveHttp({ streams: { commentInterval: commentInterval } }))
      t.after(() => server.stop())
      const client = await new RawClient(t, server.url).open()
      return { client, reader: await open(t, client, 1_000) }
    }
    const [kept, quiet] = [await start(50), await start(60_000)]
    // more than two seconds: the other one has waited for longer than it can
    for (let comment = 0; comment < 45; comment++) await kept.reader.comment()
    await staysGood(kept.reader, kept.client)
    assert.match(String(quiet.reader.ended()), /timeout/i)
  })

test('comments keep an EventSource open, which times out without them', async (t) => {
  const start = async (commentInterval: number) => {
    const server = await startSuiteServer(serveSse({ commentInterval }))
    t.after(() => server.stop())
    return openSource(t, server, 1_000)
  }
  const [kept, quiet] = [await start(50), await start(60_000)]
  await quiet.failed
  await kept.ping()
  assert.equal(kept.errors, [])
})

async function staysGood(
  reader: Reader,
  client: RawClient,
  /** News may be gathered for a moment. */
  passTime: () => unknown = () => {},
): Promise<void> {
  const told = reader.message()
  await client.call('grow')
  await passTime()
  await told
  assert.is(reader.ended(), undefined)
}

async function withNodeHttp(t: TestContext, client: RawClient, patience: number): Promise<Reader> {
  const seen = heard<'comment' | 'message'>()
  let ended: string | undefined
  await new Promise<void>((resolve, reject) => {
    const headers = { ...client.headers(), accept: 'text/event-stream' }
    const sent = request(client.url, { headers, agent: false }, (response) => {
      response.on('error', () => {})
      response.on('close', () => {
        ended ??= 'closed'
      })
      response.on('data', (chunk: Buffer) => note(seen.add, String(chunk)))
      resolve()
    })
    t.after(() => sent.destroy())
    sent.setTimeout(patience, () => {
      ended = 'timeout'
      sent.destroy()
    })
    sent.on('error', reject)
    sent.end()
  })
  return { ...asReader(seen), ended: () => ended }
}

async function withUndici(t: TestContext, client: RawClient, patience: number): Promise<Reader> {
  const dispatcher = new Agent({ bodyTimeout: patience })
  t.after(() => dispatcher.destroy())
  const headers = { ...client.headers(), accept: 'text/event-stream' }
  const { body } = await fetch(client.url, { headers, dispatcher })
  const seen = heard<'comment' | 'message'>()
  let ended: string | undefined
  const read = async (): Promise<void> => {
    for await (const chunk of body ?? []) note(seen.add, Buffer.from(chunk as Uint8Array).toString())
  }
  read().then(
    () => {
      ended = 'closed'
    },
    (error) => {
      ended = String(error.cause ?? error)
    },
  )
  return { ...asReader(seen), ended: () => ended }
}

function note(add: (kind: 'comment' | 'message') => void, text: string): void {
  for (const block of text.split('\n\n')) {
    if (block.startsWith(':')) add('comment')
    if (/^data: .*list_changed/m.test(block)) add('message')
  }
}

function asReader(seen: ReturnType<typeof heard<'comment' | 'message'>>) {
  return {
    comment: () => seen.next((kind) => kind === 'comment'),
    message: () => seen.next((kind) => kind === 'message'),
  }
}

/** HTTP+SSE, which is what an EventSource can read: it sends no headers of ours. */
async function openSource(t: TestContext, server: Server, patience: number) {
  const dispatcher = new Agent({ bodyTimeout: patience })
  const source = new EventSource(String(server.url), { node: { dispatcher } } as never)
  t.after(() => dispatcher.destroy())
  t.after(() => source.close())
  const errors: string[] = []
  const failed = new Promise<void>((resolve) => {
    source.addEventListener('error', (event) => {
      errors.push(String((event as unknown as { message?: string }).message ?? 'dropped'))
      resolve()
    })
  })
  const endpoint = await new Promise<string>((resolve) =>
    source.addEventListener('endpoint', (event) => resolve((event as MessageEvent).data)),
  )
  /** Posts a request and resolves once its answer has come on the stream. */
  const ask = async (message: object): Promise<void> => {
    const answered = new Promise((resolve) => source.addEventListener('message', resolve))
    const headers = { 'content-type': 'application/json' }
    await fetch(new URL(endpoint, server.url), { method: 'POST', headers, body: JSON.stringify(message) })
    await answered
  }
  await ask(initialize())
  return { errors, failed, ping: () => ask({ jsonrpc: '2.0', id: 1, method: 'ping' }) }
}

test.run()
