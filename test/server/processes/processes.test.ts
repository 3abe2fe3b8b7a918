// second tier: time
// time limit: 180 s
import { mkdtemp, readFile, rm, watch, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import { type ProcessRef, Registry } from 'caduceus/runtime'
import { type ProcessesOptions, startServer } from 'caduceus/server'
import { until } from 'caduceus/testing'
import { serveHttp, serveStdio } from 'caduceus/transports'
import type { TreeWideOptions } from '../_servers.js'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'

const test = suite('server processes', { timeout: 60_000 })
const patient = { timeout: 30_000 }
const module = new URL('./_server.js', import.meta.url)

test('any process serves a session', async (t) => {
  const { server, client } = await start(t)
  assert.is(await client.text('count'), '1')
  const pid = await client.text('pid')
  const others = Array.from({ length: 6 }, () => clientIn(t, server.url, client.sessionId))
  for (const other of others) assert.is(await other.text('pid'), pid)
  assert.is(await others[3]?.text('count'), '2')
  assert.is((await server.sessions()).length, 1)
})

for (const [hows, blockedTimeout] of [
  [['exit', 'abort'], 5_000],
  [['spin', 'native'], 500],
] as const) {
  test(`a tool that exits or blocks its process fails its call (${hows.join(', ')})`, async (t) => {
    const { server } = await start(t, { blockedTimeout })
    for (const how of hows) await failsItsCall(t, server, how)
  })
}

/** The process of another session is none the worse for it. */
async function failsItsCall(t: TestContext, server: Started, how: string): Promise<void> {
  const [ended, bystander] = await inDifferentProcesses(t, await new RawClient(t, server.url).open())
  await ended.text('count')
  const pid = await ended.text('pid')
  const broken = ended.call(how).then(
    () => 'answered',
    () => 'broken',
  )
  for (let calls = 1; calls <= 20; calls += 1)
    assert.is(await survive(() => bystander.text('count')), String(calls))
  assert.is(await broken, 'broken')
  assert.is(await survive(() => ended.text('count')), '2')
  assert.not(pid === (await ended.text('pid')))
  assert.is(await bystander.text('count'), '21')
  await whole(server)
}

test('a killed process fails its calls, and its sessions move', async (t) => {
  const { server, client } = await start(t)
  const clients = await Promise.all(Array.from({ length: 6 }, () => new RawClient(t, server.url).open()))
  for (const each of clients) await each.text('count')
  const pid = Number(await client.text('pid'))
  const working = client.call('works', { ms: 60_000 }).catch(() => 'broken')
  await client.text('count')
  process.kill(pid, 'SIGKILL')
  assert.is(await working, 'broken')
  for (const each of clients) assert.is(await survive(() => each.text('count')), '2')
  assert.is(await client.text('count'), '2')
  await whole(server)
})

test('a frozen process is killed, and its sessions move', async (t) => {
  const { server, client } = await start(t, { blockedTimeout: 500 })
  await client.text('count')
  process.kill(Number(await client.text('pid')), 'SIGSTOP')
  await client.text('count').catch(() => 'broken')
  assert.match(await survive(() => client.text('count')), /^[23]$/)
  await whole(server)
})

test('a reload runs the changed module and loses no session or call', async (t) => {
  const { server, path } = await startWritten(t)
  const clients = await Promise.all(Array.from({ length: 6 }, () => new RawClient(t, server.url).open()))
  let on = true
  const called = clients.map(async (client) => {
    let calls = 0
    while (on) {
      calls += 1
      assert.is(await client.text('count'), String(calls))
    }
    return client.text('version')
  })
  await writeFile(path, versioned('two'))
  await server.reload()
  on = false
  assert.equal(
    await Promise.all(called),
    clients.map(() => 'two'),
  )
  await writeFile(path, 'throw new Error("unfinished")')
  const refused = await server.reload().then(
    () => undefined,
    (error: Error) => error,
  )
  assert.match(messages(refused), /unfinished/)
  for (const client of clients) assert.is(await client.text('version'), 'two')
})

test('a module that exits at start is reported and runs once mended', async (t) => {
  const { server, path } = await startWritten(t)
  await writeFile(path, 'process.exit(9)')
  const told = until('supervisor', ({ context, reason }) => {
    return context === 'start_error' && messages(asError(reason)).includes('exit code 9')
  })
  for (const ref of await server.processes()) ref.kill()
  await told
  const refused = await server.reload().then(
    () => undefined,
    (error: Error) => error,
  )
  assert.match(messages(refused), /exit code 9/)
  await writeFile(path, versioned('mended'))
  await server.reload()
  assert.is((await server.processes()).length, 2)
  assert.is(await (await new RawClient(t, server.url).open()).text('version'), 'mended')
})

test('a process that ends during a reload is replaced', async (t) => {
  const { server, path, folder } = await startWritten(t)
  await writeFile(path, waiting(folder))
  const loading = written(folder, 'pid')
  const reloaded = server.reload()
  await loading
  const [, last] = await server.processes()
  last?.kill()
  await until(async () => (await server.processes()).length === 1)
  await writeFile(join(folder, 'go'), '')
  await reloaded
  assert.is((await server.processes()).length, 2)
})

test('a module that never loads is not waited for once there is another one', async (t) => {
  const { server, path, folder } = await startWritten(t)
  await writeFile(path, waiting(folder))
  const loading = written(folder, 'pid')
  const first = server.reload()
  await loading
  await writeFile(path, versioned('mended'))
  const begun = performance.now()
  await Promise.all([first, server.reload()])
  assert.ok(performance.now() - begun < 25_000, 'its start may take 30 s')
  assert.is(await (await new RawClient(t, server.url).open()).text('version'), 'mended')
  const pid = Number(await readFile(join(folder, 'pid'), 'utf8'))
  await until(() => {
    try {
      return !process.kill(pid, 0)
    } catch {
      return true
    }
  })
})

test('a stop does not wait for a process that never starts', async (t) => {
  const { server, path, folder } = await startWritten(t)
  await writeFile(path, waiting(folder))
  const loading = written(folder, 'pid')
  const reloaded = server.reload().then(
    () => 'replaced',
    () => 'stopped',
  )
  await loading
  const begun = performance.now()
  await server.stop()
  assert.is(await reloaded, 'stopped')
  assert.ok(performance.now() - begun < 25_000, 'its start may take 30 s')
  const pid = Number(await readFile(join(folder, 'pid'), 'utf8'))
  assert.throws(() => process.kill(pid, 0), /ESRCH/)
})

test('a module may be CommonJS that a compiler has made', async (t) => {
  const folder = await newFolder(t)
  const path = join(folder, 'server.cjs')
  const door = import.meta.resolve('caduceus')
  await writeFile(
    path,
    `const { defineServer, defineTool } = process.getBuiltinModule('module').createRequire(__filename)(require('node:url').fileURLToPath(${JSON.stringify(door)}))
    Object.defineProperty(exports, '__esModule', { value: true })
    exports.default = defineServer({ name: 'compiled', version: '1', tools: { pid: defineTool({ run: () => 'compiled' }) } })
    exports.options = { limits: { requests: 5 } }`,
  )
  const { client } = await start(t, {}, pathToFileURL(path))
  assert.is(await client.text('pid'), 'compiled')
})

test('a call longer than the reload grace is answered and delays the reload no more', async (t) => {
  const { server, client } = await start(t, { timeouts: { drain: 500 } })
  const others = Array.from({ length: 6 }, () => clientIn(t, server.url, client.sessionId))
  const calls = others.map((other) => other.call('works', { ms: 60_000 }).catch(() => undefined))
  await client.text('count')
  await server.reload()
  const answers = await Promise.all(calls)
  // its own process stops in order: those that came through another one are told, too
  assert.ok(answers.some((answer) => answer?.error?.code === -32603))
  assert.is(await survive(() => client.text('count')), '2')
})

test('a short drain loses no call on a connection that was idle', async (t) => {
  const { server, client } = await start(t, { processes: 1, timeouts: { drain: 1_000 } })
  const others = await Promise.all(Array.from({ length: 40 }, () => new RawClient(t, server.url).open()))
  // what is cut at its end is the call that takes longer
  const long = client.call('works', { ms: 60_000 }).catch(() => undefined)
  const reloaded = server.reload()
  const texts = await Promise.all(
    others.map(async (other, i) => {
      await new Promise((resolve) => setTimeout(resolve, i * 100))
      return other.text('count').catch(String)
    }),
  )
  await Promise.all([reloaded, long])
  const lost = texts.filter((text) => text !== '1')
  // what is written in the very moment in which its idle connection is closed: HTTP/1.1 has no word for it
  assert.ok(lost.length <= 1, texts.join())
  for (const text of lost) assert.match(text, /ECONNRESET|socket hang up/)
})

test('a call that waits in a slow process is read before its connection ends', async (t) => {
  const { server, client } = await start(t, { processes: 1, timeouts: { drain: 1_000 } })
  const others = await Promise.all(Array.from({ length: 10 }, () => new RawClient(t, server.url).open()))
  const long = client.call('works', { ms: 60_000 }).catch(() => undefined)
  const [other] = others
  const old = Number(await other?.text('pid'))
  const reloaded = server.reload()
  // its successor takes what is new: the old one's last second begins
  await until(async () => {
    const fresh = await new RawClient(t, server.url).open()
    return Number(await fresh.text('pid')) !== old
  }, patient)
  const blocks = other?.text('blocks', { ms: 1_500 })
  await new Promise((resolve) => setTimeout(resolve, 200))
  const texts = others.slice(1).map((each) => each.text('count').catch(String))
  assert.equal(
    await Promise.all(texts),
    texts.map(() => '1'),
  )
  assert.is(await blocks, 'blocked')
  await Promise.all([reloaded, long])
})

test('SIGHUP reloads run one after another', async (t) => {
  const { server, client } = await start(t)
  const before = await pids(t, server.url)
  process.kill(process.pid, 'SIGHUP')
  process.kill(process.pid, 'SIGHUP')
  // the second one's turn comes, and is over before this one's
  await server.reload()
  const after = await pids(t, server.url)
  assert.is(new Set([...before, ...after]).size, before.size + after.size)
  assert.is(await client.text('count'), '1')
})

for (const part of ['keeper', 'engine', 'door']) {
  test(`a crash of ${part} restores the server with its sessions`, async (t) => {
    const registry = new Registry()
    const { server, client } = await start(t, { registry })
    const before = new Set(await pids(t, server.url))
    await client.text('count')
    const ref = registry.whereis(`_server/${part}`) as ProcessRef
    ref.kill()
    await until(() => {
      const next = registry.whereis('_server/keeper')
      return next !== undefined && next.id !== ref.id && registry.whereis(`_server/${part}`) !== ref
    }, patient)
    // starting all of it takes its time
    await until(
      () =>
        whole(server).then(
          () => true,
          () => false,
        ),
      patient,
    )
    await until(async () => (await client.text('count').catch(() => '')) !== '', patient)
    assert.ok(Number(await client.text('count')) >= 3)
    const after = await pids(t, server.url)
    // its processes go on without a keeper
    assert.is(
      [...after].every((pid) => before.has(pid)),
      part === 'keeper',
    )
    assert.is((await server.processes()).length, 2)
  })
}

test('a failed start of processes rejects in the caller', async (t) => {
  const bad = async (options: Partial<ProcessesOptions>, from = module): Promise<string> => {
    const error = await startServer(from, {
      transport: serveHttp(),
      processes: 2,
      logger: false,
      ...options,
    }).then(
      (server) => {
        t.after(() => server.stop())
        return new Error('it has started')
      },
      (reason: Error) => reason,
    )
    return messages(error)
  }
  assert.match(await bad({}, new URL('./nowhere.js', import.meta.url)), /definition: .*nowhere\.js/)
  assert.match(await bad({}, new URL('https://a.example/a.js')), /definition/)
  assert.match(
    await bad({}, new URL('../_client.js', import.meta.url)),
    /default or only export to be what defineServer/,
  )
  const folder = await newFolder(t)
  await writeFile(join(folder, 'typo.mjs'), 'export default {{')
  assert.match(
    await bad({}, pathToFileURL(join(folder, 'typo.mjs'))),
    /typo\.mjs cannot be loaded: Unexpected/,
  )
  assert.match(await bad({ transport: serveStdio() }), /transport: .*share/)
  assert.match(await bad({ processes: 0 }), /processes/)
  assert.match(await bad({ prozesses: 2 } as object), /prozesses/)
  for (const wrong of [{ execArgv: 'x' }, { env: { a: 1 } }, { memory: -1 }, { blockedTimeout: 0 }])
    assert.match(await bad(wrong as object), new RegExp(`^${Object.keys(wrong)[0]}: expected`))
  assert.match(await bad({ initArg: () => {} }), /initArg: .*copied/)
  const authenticate = () => undefined
  assert.match(await bad({ transport: serveHttp({ authenticate }) }), /authenticate/)
  const path = join(folder, 'kept.mjs')
  await writeFile(
    path,
    `${versioned('one')}\nimport { inMemory } from ${JSON.stringify(import.meta.resolve('caduceus'))}\nexport const options = { engine: inMemory() }`,
  )
  assert.match(await bad({}, pathToFileURL(path)), /options\.engine: expected one that programs share/)
  const taken = await start(t)
  assert.match(await bad({ transport: serveHttp({ port: Number(taken.server.port) }) }), /port is in use/)
})

test('an event stream resumes in another process, even if the first is gone', async (t) => {
  const { client } = await start(t)
  const id = await cutStream(client, 'works', { ms: 1_000 })
  const texts: string[] = []
  // so many connections come to both processes
  for (let i = 0; i < 6; i += 1) {
    const stream = await client.listen({ 'last-event-id': id })
    texts.push(String((await stream.next()).result?.content?.[0]?.text))
    stream.close()
  }
  assert.equal(
    texts,
    texts.map(() => 'worked'),
  )
  const lost = await cutStream(client, 'works', { ms: 60_000 })
  process.kill(Number(await client.text('pid')), 'SIGKILL')
  const stream = await survive(() => client.listen({ 'last-event-id': lost }))
  assert.equal((await stream.next()).error?.data, { retryable: true })
})

test('a stop ends all processes and frees the port', async (t) => {
  const { server, client } = await start(t)
  const pid = Number(await client.text('pid'))
  const { port } = server
  await server.stop()
  assert.throws(() => process.kill(pid, 0), /ESRCH/)
  const again = await startServer(module, {
    transport: serveHttp({ port: Number(port) }),
    processes: 1,
    logger: false,
  })
  await again.stop()
})

test.run()

type Started = Awaited<ReturnType<typeof start>>['server']

async function start(
  t: TestContext,
  options: Partial<ProcessesOptions> & TreeWideOptions = {},
  from = module,
) {
  const server = await startServer(from, { transport: serveHttp(), processes: 2, logger: false, ...options })
  t.after(() => server.stop())
  return { server, client: await new RawClient(t, server.url).open() }
}

/** A server whose module is in a folder of its own, to be changed. */
async function startWritten(t: TestContext) {
  const folder = await newFolder(t)
  const path = join(folder, 'server.mjs')
  await writeFile(path, versioned('one'))
  return { ...(await start(t, {}, pathToFileURL(path))), path, folder }
}

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'caduceus-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

function clientIn(t: TestContext, url: string | undefined, sessionId: string | undefined): RawClient {
  const client = new RawClient(t, url)
  client.sessionId = sessionId
  return client
}

/** This client, and one whose session runs in another process. */
async function inDifferentProcesses(t: TestContext, client: RawClient): Promise<[RawClient, RawClient]> {
  const pid = await client.text('pid')
  for (;;) {
    const other = await new RawClient(t, client.url.href).open()
    if ((await other.text('pid')) !== pid) return [client, other]
  }
}

/** Calls a tool, and cuts the connection after its first event, which tells of progress; answers its id. */
function cutStream(client: RawClient, name: string, args: object): Promise<string> {
  const params = { name, arguments: args, _meta: { progressToken: 1 } }
  return new Promise((resolve, reject) => {
    const sent = request(
      client.url,
      { method: 'POST', headers: client.headers(), agent: false },
      (response) => {
        let text = ''
        response.on('error', () => {})
        response.on('data', (chunk) => {
          text += String(chunk)
          const found = /^id: (.*)\ndata: \{.*progress.*\n\n/m.exec(text)
          if (found === null) return
          response.destroy()
          resolve(String(found[1]))
        })
      },
    )
    sent.on('error', reject)
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: name + Math.random(), method: 'tools/call', params }))
  })
}

async function pids(t: TestContext, url: string | undefined): Promise<Set<string>> {
  const clients = await Promise.all(Array.from({ length: 6 }, () => new RawClient(t, url).open()))
  return new Set(await Promise.all(clients.map((client) => client.text('pid'))))
}

/** A connection of a process that has ended breaks: a client makes a call again that it knows to be harmless. */
async function survive<Value>(call: () => Promise<Value>): Promise<Value> {
  return call().catch(call)
}

/** Waits until there are as many processes as there should be. */
async function whole(server: Started): Promise<void> {
  await until(async () => (await server.processes()).length === 2, patient)
}

function messages(error: unknown): string {
  return error instanceof Error ? `${error.message}\n${messages(error.cause)}` : ''
}

async function written(folder: string, name: string): Promise<void> {
  for await (const { filename } of watch(folder)) if (filename === name) return
}

/** An error, or the one of an exit reason. */
function asError(reason: unknown): unknown {
  return (reason as { readonly error?: unknown }).error
}

/** A module that says that it is being loaded, and waits until it may go on. */
function waiting(folder: string): string {
  return `
    import { existsSync, renameSync, writeFileSync } from 'node:fs'
    writeFileSync(${JSON.stringify(join(folder, 'new'))}, String(process.pid))
    renameSync(${JSON.stringify(join(folder, 'new'))}, ${JSON.stringify(join(folder, 'pid'))})
    while (!existsSync(${JSON.stringify(join(folder, 'go'))})) await new Promise((resolve) => setTimeout(resolve, 10))
    ${versioned('late')}`
}

function versioned(version: string): string {
  const door = import.meta.resolve('caduceus')
  return `
    import { defineServer, defineTool } from ${JSON.stringify(door)}
    const count = defineTool({ run: async (_, ctx) => String(await ctx.update('count', (n = 0) => n + 1)) })
    const version = defineTool({ run: () => ${JSON.stringify(version)} })
    export default defineServer({ name: 'test', version: '1', tools: { count, version } })
  `
}
