import { request } from 'node:http'
import * as assert from 'uvu/assert'
import { childSpec, defineActor, startSupervisor } from 'caduceus/runtime'
import {
  type Observation,
  observe,
  type ObserveOptions,
  type Picture,
  TransportError,
} from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('observe: the page')

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

interface Asked {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

function ask(url: string, { method = 'GET', headers = {}, body = '' }: Asked = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent: false }, async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
    })
    asked.once('error', reject)
    asked.end(body)
  })
}

/** A page, how it is asked with the secret, and a worker that it shows. */
async function open(t: TestContext, options: ObserveOptions = {}) {
  const observation: Observation = await observe({ name: 'the test', port: 0, local: false, ...options })
  t.after(() => observation.close())
  const { origin, hash } = new URL(observation.url ?? '')
  const authorization = `Bearer ${new URLSearchParams(hash.slice(1)).get('secret')}`
  return {
    observation,
    origin,
    authorization,
    get: (path: string, { headers = {}, ...more }: Asked = {}) =>
      ask(`${origin}${path}`, { ...more, headers: { authorization, ...headers } }),
    act: (body: string, headers: Readonly<Record<string, string>> = { 'x-caduceus': 'act' }) =>
      ask(`${origin}/act`, { method: 'POST', headers: { authorization, ...headers }, body }),
    events: (count: number) => readEvents(t, `${origin}/events`, authorization, count),
  }
}

/** So many events of the stream, or the answer where there is none. */
function readEvents(t: TestContext, url: string, authorization: string, count: number) {
  return new Promise<{ status: number; headers: Answer['headers']; events: string[]; leave: () => void }>(
    (resolve, reject) => {
      const asked = request(url, { headers: { authorization }, agent: false }, (response) => {
        let text = ''
        const { statusCode: status = 0, headers } = response
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
          const events = text.split('\n\n').slice(0, -1)
          if (events.length >= count) resolve({ status, headers, events, leave: () => asked.destroy() })
        })
        response.once('end', () => resolve({ status, headers, events: [text], leave: () => {} }))
        response.once('error', () => {})
      })
      asked.once('error', reject).end()
      t.after(() => asked.destroy())
    },
  )
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error) => error,
  )
}

test('every refusal says what would be right', async (t) => {
  const { origin, get, authorization } = await open(t)
  const said = async (answer: Promise<Answer>) => {
    const { status, text, headers } = await answer
    assert.is(headers['content-type'], 'text/plain; charset=utf-8')
    return [status, text]
  }
  const needed = 'Open the address that the program tells when it starts: it has a secret\n'
  assert.equal(await said(ask(`${origin}/events`)), [401, needed])
  const other = { authorization: authorization.replace(/.$/, '.') }
  assert.equal(await said(get('/events', { headers: other })), [401, needed])
  assert.equal(await said(get('/', { headers: { host: 'evil.example' } })), [
    403,
    'Only under the names of this machine, and for no page of another origin\n',
  ])
  assert.equal(await said(get('/none')), [404, 'There is /, /events and /act\n'])
  assert.equal(await said(get('/act')), [404, 'There is /, /events and /act\n'])
  assert.equal(await said(get('/', { method: 'POST' })), [405, 'GET, or POST to /act\n'])
  assert.equal(await said(get('/act', { method: 'POST' })), [
    403,
    'This program may only be looked at: observe({ actions: true })\n',
  ])
})

test('every file has its type, and headers that keep others out', async (t) => {
  const { get } = await open(t)
  for (const [path, type] of [
    ['/', 'text/html'],
    ['/page.js', 'text/javascript'],
    ['/page.css', 'text/css'],
    ['/icon.svg', 'image/svg+xml'],
  ] as const) {
    const { headers, text } = await get(path)
    assert.is(headers['content-type'], `${type}; charset=utf-8`)
    assert.is(headers['x-content-type-options'], 'nosniff')
    assert.is(headers['referrer-policy'], 'no-referrer')
    assert.ok(text.length > 100, path)
  }
})

test('an order that is malformed, too long or of no known kind is refused', async (t) => {
  const { act } = await open(t, { actions: true })
  const expected = 'Expected { "key": 1, "what": "kill" or "restart" or "reconnect" or "trace" }\n'
  const padded = (length: number) => JSON.stringify({ key: 1e9, what: 'kill' }).padEnd(length)
  for (const body of ['', 'null', '[]', '{"key":1}', '{"key":1.5,"what":"kill"}', '{"key":1,"what":"eat"}'])
    assert.equal(await act(body).then(({ status, text }) => [status, text]), [400, expected], body)
  assert.is((await act(padded(1_001))).status, 400)
  assert.equal(await act(padded(1_000)).then(({ status, text }) => [status, text]), [
    200,
    'it does not run any more\n',
  ])
  const unasked = await act(padded(50), {})
  assert.equal([unasked.status, unasked.text], [403, 'The header X-Caduceus: act is missing\n'])
  const absent = await act(JSON.stringify({ key: 1e9, what: 'trace' }))
  assert.is(absent.text, 'no process of this thread runs there: trace it where it is\n')
})

test('the stream begins with the whole picture, and goes on with changes', async (t) => {
  const worker = defineActor({ name: 'worker', init: () => ({}) })
  const family = await startSupervisor({
    name: 'family',
    strategy: 'one_for_one',
    children: [childSpec(worker)],
    logger: false,
  })
  t.after(() => family.stop())
  const { events } = await open(t, { actions: true })
  const stream = await events(2)
  assert.is(stream.status, 200)
  assert.is(stream.headers['content-type'], 'text/event-stream')
  assert.is(stream.headers['x-accel-buffering'], 'no')
  const [first = '', second = ''] = stream.events
  assert.ok(first.startsWith('event: picture\ndata: '))
  const picture = JSON.parse(first.slice('event: picture\ndata: '.length)) as Picture
  assert.equal(picture.program, { name: 'the test', pid: process.pid, node: process.version, actions: true })
  assert.equal(
    picture.rows.map(({ id }) => id),
    ['family', 'worker'],
  )
  assert.ok(Math.abs(picture.at - Date.now()) < 60_000)
  const { rss, heapUsed, late, busy, uptime } = picture.health
  assert.ok(rss > heapUsed && heapUsed > 1e6)
  assert.ok(busy >= 0 && busy <= 1 && late >= 0)
  assert.ok(Math.abs(uptime - process.uptime() * 1_000) < 60_000)
  assert.ok(second.startsWith('event: changes\ndata: '))
})

test.slow('the fifth who looks is told to come back', async (t) => {
  const { events } = await open(t)
  for (let n = 0; n < 4; n += 1) await events(1)
  const { status, headers, events: said } = await events(9)
  assert.equal([status, headers['retry-after'], said], [503, '5', ['4 look at it already\n']])
})

test('ports from 0 to 65535 are ports', async () => {
  for (const port of [-1, 65_536, 1.5, '80', Number.NaN]) {
    const error = await failure(observe({ port } as ObserveOptions))
    assert.ok(error instanceof TransportError && error.code === 'BAD_OPTION', String(port))
    assert.match(error.message, /port: expected a port from 0 to 65535/)
  }
  const last = await observe({ port: 65_535, local: false }).catch((error: unknown) => error)
  if (last instanceof Error) assert.is((last as TransportError).code, 'LISTEN_FAILED')
  else await (last as Observation).close()
})

test('a port that is taken is told as that, without the words of the supervisor', async (t) => {
  const { origin } = await open(t)
  const error = await failure(observe({ port: Number(new URL(origin).port), local: false }))
  assert.ok(error instanceof TransportError && error.code === 'LISTEN_FAILED', String(error))
})

test('without a page and a socket there is no address, and closing twice is closing', async () => {
  const observation = await observe({ local: false })
  assert.equal([observation.url, observation.path], [undefined, undefined])
  assert.ok(observation.ref.alive)
  await observation.close()
  await observation[Symbol.asyncDispose]()
  assert.not(observation.ref.alive)
})

test.run()
