// second tier: time
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import {
  type ActorRef,
  childSpec,
  defineActor,
  inspect,
  type ProcessRef,
  startSupervisor,
  taskSupervisorSpec,
  type TaskSupervisor,
  subscribe,
  supervisorAt,
} from 'caduceus/runtime'
import { crash as crashProcess, Recording, scriptedServer, until } from 'caduceus/testing'
import {
  type Changes,
  lookAt,
  type Observation,
  observe,
  observedPrograms,
  type ObserveOptions,
  type Picture,
  TransportError,
} from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('observe')
const folder = mkdtempSync(join(tmpdir(), 'view-'))
process.env.XDG_RUNTIME_DIR = folder
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

const worker = defineActor({
  name: 'worker',
  init: () => ({}),
  cast: { work() {} },
})

async function open(t: TestContext, options: ObserveOptions = {}): Promise<Observation> {
  const observation = await observe({ name: 'the test', ...options })
  t.after(() => observation.close())
  return observation
}

async function family(t: TestContext) {
  const supervisor = await startSupervisor({
    name: 'family',
    strategy: 'one_for_one',
    children: [childSpec(worker)],
    logger: false,
  })
  t.after(() => supervisor.stop())
  return supervisor
}

/** Records what is told to one who looks. */
function look(t: TestContext, path: string) {
  const enough = new AbortController()
  t.after(() => enough.abort())
  const pictures = new Recording<Picture>('pictures')
  const changes = new Recording<Changes>('changes')
  const sight = {
    picture: (each: Picture) => pictures.add(each),
    changes: (each: Changes) => changes.add(each),
  }
  const ended = lookAt(path, sight, enough.signal)
  ended.catch(() => {})
  return { pictures, changes, ended, leave: () => enough.abort() }
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

function ask(
  url: string,
  {
    method = 'GET',
    headers = {},
    body = '',
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
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

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error) => error,
  )
}

test('the socket is private and sends the whole picture, then changes', async (t) => {
  const { path, url } = await open(t)
  const { ref } = await family(t)
  assert.is(url, undefined)
  if (path === undefined) throw new Error('no path')
  assert.is(statSync(path).mode & 0o777, 0o600)
  assert.is(statSync(dirname(path)).mode & 0o777, 0o700)
  assert.equal(
    (await observedPrograms()).map(({ name, pid }) => [name, pid]),
    [['the-test', process.pid]],
  )
  const { pictures, changes } = look(t, path)
  const picture = await pictures.next()
  assert.equal(
    [picture.program.name, picture.program.pid, picture.program.actions],
    ['the test', process.pid, false],
  )
  assert.equal(
    picture.rows.map(({ id }) => id),
    ['family', 'worker'],
  )
  const [child] = inspect(ref).children
  const row = picture.rows[1]
  assert.is(row?.process, child?.process)
  await changes.next(({ rows, gone }) => rows.length + gone.length === 0)
  await crashProcess(await refOfWorker(ref), { error: new Error('on purpose') })
  const { rows } = await changes.next((each) => each.rows.some(({ key }) => key === row?.key))
  assert.is(rows.find(({ key }) => key === row?.key)?.restarts, 1)
  const crash = changes.all.flatMap(({ happened }) => happened).find(({ what }) => what === 'crash')
  assert.is(crash?.text, 'crash: on purpose (in crash)')
})

async function refOfWorker(supervisor: ProcessRef): Promise<ActorRef> {
  const [child] = await supervisorAt(supervisor).children()
  if (child?.ref === undefined) throw new Error('no worker')
  return child.ref as ActorRef
}

test('a client that waits connects when it is told to', async (t) => {
  const server = scriptedServer()
  const client = startClient({
    transport: server.transport,
    backoff: { base: 60_000, cap: 60_000 },
    logger: false,
  })
  t.after(() => client.close())
  await client.ready()
  await family(t)
  const lost = until(client, ({ phase }) => phase === 'disconnected')
  server.drop()
  await lost
  const { path, url } = await open(t, { port: 0, actions: true })
  const { origin, authorization } = secretOf({ url } as Observation)
  const { pictures } = look(t, path ?? '')
  const { rows } = await pictures.next()
  const act = (name: string) =>
    ask(`${origin}/act`, {
      method: 'POST',
      headers: { authorization, 'x-caduceus': 'act' },
      body: JSON.stringify({ key: rows.find((row) => row.name === name)?.key, what: 'reconnect' }),
    })
  assert.is((await act('worker')).text, 'worker is no client\n')
  const ready = until(client, ({ phase }) => phase === 'ready')
  assert.is((await act('client')).text, 'client: reconnect\n')
  await ready
})

test('without the option actions are refused; with it kill, restart and trace work', async (t) => {
  const { ref } = await family(t)
  const idle = await open(t, { port: 0, local: false })
  const first = secretOf(idle)
  const act = { method: 'POST', headers: { authorization: first.authorization, 'x-caduceus': 'act' } }
  const refused = await ask(`${first.origin}/act`, { ...act, body: '{"key":1,"what":"kill"}' })
  assert.is(refused.status, 403)
  await idle.close()

  const live = await open(t, { port: 0, actions: true })
  const { origin, authorization } = secretOf(live)
  const { pictures, changes } = look(t, live.path ?? '')
  const key = (await pictures.next()).rows.find(({ id }) => id === 'worker')?.key
  const headers = { authorization, 'x-caduceus': 'act' }
  const post = (body: string, more: Record<string, string> = headers) =>
    ask(`${origin}/act`, { method: 'POST', headers: more, body })
  assert.is((await post(JSON.stringify({ key, what: 'kill' }), { authorization })).status, 403)
  assert.is((await post('{"key":"1","what":"kill"}')).status, 400)
  assert.is((await post('x'.repeat(10_000))).status, 400)
  assert.is((await post(JSON.stringify({ key: 99_999, what: 'kill' }))).text, 'it does not run any more\n')
  const killed = await post(JSON.stringify({ key, what: 'kill' }))
  assert.equal([killed.status, killed.text], [200, 'worker: kill\n'])
  const restarted = (count: number) => (each: Changes) =>
    each.rows.some((row) => row.key === key && row.restarts === count)
  await changes.next(restarted(1))
  await post(JSON.stringify({ key, what: 'restart' }))
  await changes.next(restarted(2))
  await post(JSON.stringify({ key, what: 'trace' }))
  const tracedWorker = await refOfWorker(ref)
  ;(tracedWorker as unknown as { cast(name: string): boolean }).cast('work')
  const { traced } = await changes.next((each) => each.traced.length > 0)
  assert.equal(
    traced.map(({ key: of, what, kind, name }) => [of, what, kind, name]),
    [
      [key, 'in', 'cast', 'work'],
      [key, 'out', 'cast', 'work'],
    ],
  )
})

test('a trace of a task is refused in words, and the view goes on', async (t) => {
  const tree = await family(t)
  const tasks = (await tree.startChild(taskSupervisorSpec({ name: 'tasks' }))).extra as TaskSupervisor
  tasks.start(() => new Promise(() => {}), { name: 'endless' })
  const live = await open(t, { port: 0, actions: true })
  const { origin, authorization } = secretOf(live)
  const { pictures, changes } = look(t, live.path ?? '')
  const key = (await pictures.next()).rows.find(({ kind }) => kind === 'task')?.key
  const { text } = await ask(`${origin}/act`, {
    method: 'POST',
    headers: { authorization, 'x-caduceus': 'act' },
    body: JSON.stringify({ key, what: 'trace' }),
  })
  assert.match(text, 'is a task: it gets no messages')
  await changes.next()
})

function secretOf({ url = '' }: Observation): { origin: string; authorization: string } {
  const { origin, hash } = new URL(url)
  return { origin, authorization: `Bearer ${new URLSearchParams(hash.slice(1)).get('secret')}` }
}

test('the page needs the secret and a local host name, and refuses other pages', async (t) => {
  const observation = await open(t, { port: 0, local: false })
  const { origin, authorization } = secretOf(observation)
  const { port } = new URL(origin)
  const statusFor = async (target: string, headers: Record<string, string>, method = 'GET') =>
    (await ask(`${origin}${target}`, { method, headers })).status
  for (const wrong of [{}, { authorization: `${authorization}x` }, { authorization: 'Bearer ' }]) {
    assert.is(await statusFor('/events', wrong), 401)
    assert.is(await statusFor('/act', { ...wrong, 'x-caduceus': 'act' }, 'POST'), 401)
  }
  for (const target of ['/', '/events']) {
    assert.is(await statusFor(target, { authorization, host: `evil.example:${port}` }), 403)
    assert.is(await statusFor(target, { authorization, origin: 'https://evil.example' }), 403)
  }
  assert.is(await statusFor('/', { authorization }, 'PUT'), 405)
  assert.is(await statusFor('/../../etc/passwd', { authorization }), 404)
  // cookies are of all ports of this machine: none is set, and none counts
  const page = await ask(`${origin}/?secret=x`, { headers: { cookie: `caduceus-${port}=junk` } })
  assert.is(page.headers['set-cookie'], undefined)
  assert.is(page.status, 200)
  assert.not.match(page.text, new RegExp(authorization.slice('Bearer '.length)))
  assert.match(String(page.headers['content-security-policy']), /default-src 'none'; script-src 'self'/)
  assert.is(page.headers['cache-control'], 'no-store')
  for (const file of ['/page.js', '/page.css', '/icon.svg']) assert.is(await statusFor(file, {}), 200)
})

test('a request with a malformed target fails alone', async (t) => {
  const observation = await open(t, { port: 0 })
  const { origin, authorization } = secretOf(observation)
  const heard: unknown[] = []
  t.after(subscribe('stray', ({ error }) => heard.push(error)))
  const [child] = inspect(observation).children
  const places = { port: Number(new URL(origin).port), path: observation.path ?? '' }
  const host = `127.0.0.1:${places.port}`
  // as often as the observer may crash, and more
  for (const [target, known, unknown] of [
    ['//', '404', '401'],
    ['//[', '404', '401'],
    ['http://[/', '403', '403'],
    ['*', '404', '401'],
    ['//evil.example/', '404', '401'],
    ['/%ff', '404', '401'],
    ['http://evil.example//', '403', '403'],
  ] as const)
    for (let i = 0; i < 4; i += 1) {
      assert.is(await statusOf(t, places.port, target, host), unknown, target)
      assert.is(await statusOf(t, places.port, target, host, authorization), known, target)
      if (!target.startsWith('http'))
        assert.is(await statusOf(t, places.port, target, 'evil.example'), '403', target)
      assert.match(await statusOf(t, places.path, target, 'x'), /^(?:200|404)$/, target)
    }
  assert.equal(heard, [])
  assert.is(inspect(observation).children[0]?.process, child?.process)
  const page = await ask(`${origin}/`)
  assert.is(page.status, 200)
})

test('strangers with half a request keep nobody out', async (t) => {
  const { url } = await open(t, { port: 0, local: false })
  const { port } = new URL(url ?? '')
  const strangers = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => {})
      t.after(() => socket.destroy())
      await once(socket, 'connect')
      socket.write('GET / HT')
      return socket
    }),
  )
  const answer = await fetch(url ?? '', { headers: { connection: 'close' } })
  assert.is(answer.status, 200)
  assert.ok(strangers.filter(({ destroyed }) => !destroyed).length <= 16)
})

/** The status of the answer to a target that no library would send. */
async function statusOf(
  t: TestContext,
  place: number | string,
  target: string,
  host: string,
  authorization = 'none',
): Promise<string> {
  const text = `GET ${target} HTTP/1.1\r\nhost: ${host}\r\nauthorization: ${authorization}\r\nconnection: close\r\n\r\n`
  const socket = typeof place === 'number' ? connect(place, '127.0.0.1') : connect(place)
  t.after(() => socket.destroy())
  socket.write(text)
  const [chunk] = await once(socket.setEncoding('latin1'), 'data', { signal: t.signal })
  return /^HTTP\/1\.1 (\d+)/.exec(String(chunk))?.[1] ?? ''
}

test('four observers are allowed, the fifth is refused until one leaves', async (t) => {
  const { path = '' } = await open(t)
  const four = [1, 2, 3, 4].map(() => look(t, path))
  await Promise.all(four.map(({ pictures }) => pictures.next()))
  const error = await failure(look(t, path).ended)
  assert.ok(error instanceof TransportError && error.code === 'CLIENT_LIMIT')
  four[0]?.leave()
  await until(async () => {
    const fifth = look(t, path)
    const isIn = await Promise.race([
      fifth.pictures.next().then(() => true),
      fifth.ended.then(
        () => true,
        () => false,
      ),
    ])
    return isIn
  })
})

test('the tree is read four times a second for any number of observers', async (t) => {
  const { path = '' } = await open(t)
  for (let i = 0; i < 10; i += 1) {
    const { pictures, leave, ended } = look(t, path)
    await pictures.next()
    leave()
    await ended
  }
  const { pictures, changes } = look(t, path)
  await pictures.next()
  const began = performance.now()
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const most = Math.ceil((performance.now() - began) / 250) + 1
  assert.ok(changes.all.length <= most, `${changes.all.length} looks, expected ${most} at most`)
})

test('the view restarts itself with port, secret and path', async (t) => {
  const observation = await open(t, { port: 0 })
  const { url = '', path = '' } = observation
  const [child] = inspect(observation).children
  const ref = await refOfWorker(observation.ref)
  assert.is(child?.name, 'observer')
  await crashProcess(ref, { error: new Error('on purpose') })
  await until(async () => {
    const { origin } = new URL(url)
    return (await failure(ask(`${origin}/`))) === undefined
  })
  assert.is(observation.url, url)
  await look(t, path).pictures.next()
})

test('a closed view leaves nothing, and observers are told the end', async (t) => {
  const observation = await open(t, { port: 0 })
  const { path = '', url = '' } = observation
  const { pictures, ended } = look(t, path)
  await pictures.next()
  await observation.close()
  await observation.close()
  await ended
  assert.throws(() => statSync(path), /ENOENT/)
  assert.equal(await observedPrograms(), [])
  assert.match(String(await failure(ask(url))), /ECONNREFUSED/)
  const error = await failure(look(t, path).ended)
  assert.ok(error instanceof TransportError && error.code === 'CONNECT_FAILED')
})

test('observing does not keep a program alive, and a killed one is not listed', async (t) => {
  const first = await program(t, 'ends')
  const { ended } = look(t, first.path)
  assert.is(await first.code, 0)
  await ended
  const second = await program(t, 'stays')
  assert.is((await observedPrograms()).length, 1)
  second.child.kill('SIGKILL')
  await second.code
  assert.ok(statSync(second.path).isSocket())
  assert.equal(await observedPrograms(), [])
  assert.throws(() => statSync(second.path), /ENOENT/)
})

/** A program that is looked at, and ends a second after that has begun, or not. */
async function program(
  t: TestContext,
  way: 'ends' | 'stays',
): Promise<{ child: ChildProcess; path: string; code: Promise<number | null> }> {
  const file = fileURLToPath(new URL('./_program.js', import.meta.url))
  const child = spawn(process.execPath, [file, way], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const code = once(child, 'exit').then(([status]) => status as number | null)
  const [line] = await once(child.stdout, 'data')
  return { child, path: String(line).trim(), code }
}

test('a folder writable by others is refused', async (t) => {
  const open = mkdtempSync(join(tmpdir(), 'open-'))
  t.after(() => {
    process.env.XDG_RUNTIME_DIR = folder
    rmSync(open, { recursive: true, force: true })
  })
  mkdirSync(join(open, 'caduceus'))
  chmodSync(join(open, 'caduceus'), 0o777)
  process.env.XDG_RUNTIME_DIR = open
  const error = await failure(observe())
  assert.ok(error instanceof TransportError && error.code === 'LISTEN_FAILED')
  assert.match(error.message, /others may write to: remove it/)
})

test('wrong options are told', async () => {
  for (const [options, field] of [
    [{ port: 70_000 }, 'port'],
    [{ port: '80' }, 'port'],
    [{ name: '' }, 'name'],
    [{ actions: 1 }, 'actions'],
    [{ ports: 1 }, 'ports'],
  ] as const) {
    const error = await failure(observe(options as ObserveOptions))
    assert.ok(error instanceof TransportError && error.code === 'BAD_OPTION', field)
    assert.equal(error.data, { field })
  }
})

test.run()
