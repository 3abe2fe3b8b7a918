import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import {
  files,
  inMemory,
  records,
  type Server,
  type ServerEngine,
  type SessionRecord,
  type SessionStore,
} from 'caduceus/server'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { until } from 'caduceus/testing'
import { count, startTestServer } from '../_servers.js'
import { at, greet, ModernClient } from '../tasks/_tasks.js'
import { makeFolder } from '../../support/folder.js'

const test = suite('engines', { timeout: 20_000 })
const program = fileURLToPath(new URL('./_engine-program.js', import.meta.url))

/** A program that serves on the folder; `told` is where, or why not. */
async function startProgram(t: TestContext, folder: string) {
  const child = spawn(process.execPath, [program, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  return { child, told: String(line).trim() }
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  assert.is((await exited)[1], 'SIGKILL')
}

function startOn(t: TestContext, engine: ServerEngine): Promise<Server> {
  return startTestServer(t, [count, greet], { engine })
}

/** The same client, on another server. */
function elsewhere(t: TestContext, { sessionId }: RawClient, url: string | undefined): RawClient {
  const client = new RawClient(t, url)
  client.sessionId = sessionId
  return client
}

/** What a server that must not start is refused with. */
async function refusal(
  starting: Promise<unknown>,
): Promise<{ code: string; field: unknown; message: string }> {
  const error = await starting.then(
    () => assert.unreachable('it started'),
    (reason: unknown) => reason as { code: string; message: string; data: { field: unknown } },
  )
  return { code: String(error?.code), field: error?.data?.field, message: String(error?.message) }
}

const remedy = /is locked .*another program.*folder of its own.*processes.*redis\(\)/

test('a second server on a folder is refused with what to do, and the first goes on', async (t) => {
  const folder = makeFolder(t)
  const engine = files({ folder })
  const first = await startOn(t, engine)
  const client = await new RawClient(t, first.url).open()
  for (const second of [files({ folder }), engine]) {
    const { code, field, message } = await refusal(startOn(t, second))
    assert.equal([code, field], ['BAD_OPTION', 'folder'])
    assert.match(message, remedy)
  }
  assert.is(await client.text('count'), '1')
  await first.stop()
  const next = await startOn(t, engine)
  assert.is(await elsewhere(t, client, next.url).text('count'), '2')
})

test.slow('a folder belongs to one program, and is free once that is killed', async (t) => {
  const folder = makeFolder(t)
  const first = await startProgram(t, folder)
  assert.match(first.told, /^http:/)
  const { code, message } = await refusal(startOn(t, files({ folder })))
  assert.is(code, 'BAD_OPTION')
  assert.match(message, remedy)
  const second = await startProgram(t, folder)
  assert.match(second.told, /^BAD_OPTION files: folder: .*is locked /)
  await kill(first.child)
  const here = await startOn(t, files({ folder }))
  assert.match((await startProgram(t, folder)).told, /^BAD_OPTION /)
  await here.stop()
  assert.match((await startProgram(t, folder)).told, /^http:/)
})

test('a folder is one under each of its names, however long its path is', async (t) => {
  if (process.platform !== 'linux') return
  const root = makeFolder(t)
  const folder = join(root, 'x'.repeat(100), 'y'.repeat(100))
  const first = await startOn(t, files({ folder }))
  symlinkSync(folder, join(root, 'current'))
  for (const name of [folder, join(root, 'current')])
    assert.match((await refusal(startOn(t, files({ folder: name })))).message, remedy)
  await first.stop()
  await (await startOn(t, files({ folder: join(root, 'current') }))).stop()
})

test('a folder that others have a say in is refused', async (t) => {
  if (process.platform === 'win32') return
  const open = join(makeFolder(t), 'open')
  mkdirSync(open)
  chmodSync(open, 0o777)
  assert.throws(() => files({ folder: open }), /folder: .*open is one that others may write to/)
  const linked = makeFolder(t)
  symlinkSync(makeFolder(t), join(linked, 'sessions'))
  assert.match((await refusal(startOn(t, files({ folder: linked })))).message, /sessions is a link/)
  const dangling = makeFolder(t)
  symlinkSync(join(dangling, 'nowhere'), join(dangling, 'sessions'))
  const missing = await refusal(startOn(t, files({ folder: dangling })))
  assert.is(missing.code, 'BAD_OPTION')
  assert.match(missing.message, /sessions/)
  const told = makeFolder(t)
  writeFileSync(join(told, 'secret'), Buffer.alloc(32), { mode: 0o644 })
  const { code, message } = await refusal(startOn(t, files({ folder: told })))
  assert.is(code, 'BAD_OPTION')
  assert.match(message, /secret is somebody else's, or others may read it/)
})

test('what is no file costs no start, and its session is unknown', async (t) => {
  if (process.platform === 'win32') return
  const folder = makeFolder(t)
  const first = await startOn(t, files({ folder }))
  const client = await new RawClient(t, first.url).open()
  await first.stop()
  const [file = ''] = readdirSync(join(folder, 'sessions'))
  const pipes = [join(folder, 'sessions', file), join(folder, 'tasks', `${'0'.repeat(64)}.task`)]
  rmSync(String(pipes[0]))
  for (const pipe of pipes) assert.is(spawnSync('mkfifo', [pipe]).status, 0)
  const next = await startOn(t, files({ folder }))
  const { status } = await elsewhere(t, client, next.url).post({ jsonrpc: '2.0', id: 1, method: 'ping' })
  assert.is(status, 404)
})

test('a crash of the holdings frees the folder for the next ones', async (t) => {
  const server = await startOn(t, files({ folder: makeFolder(t) }))
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('count'), '1')
  const holdings = server.registry.whereis('test/holdings')
  const gone = new Promise((resolve) => server.registry.whereis('test/transport')?.onExit(resolve))
  holdings?.kill()
  await gone
  await server.registry.whenUp('test/transport')
  assert.is(await elsewhere(t, client, server.url).text('count'), '2')
})

test('a folder with a long path is locked, too', async (t) => {
  const folder = join(makeFolder(t), 'x'.repeat(120))
  const engine = files({ folder })
  const first = await startOn(t, engine)
  assert.is((await refusal(startOn(t, files({ folder })))).code, 'BAD_OPTION')
  await first.stop()
  await startOn(t, engine)
})

test.slow('with files, what a killed program has given out is good in the next one', async (t) => {
  const folder = makeFolder(t)
  const first = await startProgram(t, folder)
  const client = await new RawClient(t, first.told).open()
  const modern = new ModernClient(t, first.told)
  assert.is(await client.text('count', { by: 5 }), '5')
  const cursor = at<string>((await client.ask('tools/list')).result, 'nextCursor')
  const { result: asked } = await modern.call('asks')
  const requestState = at<string>(asked, 'requestState')
  const taskId = await modern.start('works')
  await modern.until(taskId, 'completed')
  await kill(first.child)

  const { told } = await startProgram(t, folder)
  const same = elsewhere(t, client, told)
  const later = new ModernClient(t, told)
  assert.is(await same.text('count'), '6')
  assert.is(at((await same.ask('tools/list', { cursor })).result, 'tools', '0', 'name'), 'asks')
  const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
  const { result } = await later.ask('tools/call', {
    name: 'asks',
    arguments: {},
    requestState,
    inputResponses,
  })
  assert.is(at(result, 'content', '0', 'text'), 'hello Ada')
  assert.is(at(await later.until(taskId, 'completed'), 'result', 'content', '0', 'text'), 'worked')
})

test('the folder of files is for its owner only, and the secret is whole', async (t) => {
  const folder = join(makeFolder(t), 'engine')
  const server = await startOn(t, files({ folder }))
  await new RawClient(t, server.url).open()
  assert.equal(readdirSync(folder).sort(), ['lock', 'secret', 'sessions', 'tasks'])
  for (const name of ['.', 'sessions', 'tasks']) assert.is(statSync(join(folder, name)).mode & 0o777, 0o700)
  for (const name of ['lock', 'secret']) assert.is(statSync(join(folder, name)).mode & 0o777, 0o600)
  const secret = readFileSync(join(folder, 'secret'))
  assert.is(secret.length, 32)
  await server.stop()
  assert.equal(readdirSync(folder).sort(), ['secret', 'sessions', 'tasks'])
  await startOn(t, files({ folder }))
  assert.equal(readFileSync(join(folder, 'secret')), secret)
})

test('what cannot be an engine is refused by name', async (t) => {
  const wrong = ['files', null, {}, { load: () => {} }, () => 'engine', files, { open: () => {} }]
  for (const engine of wrong) {
    const { code, field, message } = await refusal(startOn(t, engine as never))
    assert.equal([code, field], ['BAD_OPTION', 'engine'])
    assert.match(
      message,
      /^engine: expected what inMemory\(\), files\(\), redis\(\), sealed\(\), records\(\) or durableObject\(\) returns/,
    )
  }
  const refused: [() => unknown, string][] = [
    [() => records({} as never), 'options'],
    [() => records(undefined as never), 'options'],
    [() => records({ ...none, tasks: {} as never }), 'tasks'],
    [() => records({ ...none, shared: 'yes' as never }), 'shared'],
    [() => records({ ...none, keys: ['short'] }), 'keys[0]'],
    [() => records({ ...none, keys: [] }), 'keys'],
  ]
  for (const [make, field] of refused) {
    const { code, field: named } = await refusal(Promise.resolve().then(make))
    assert.equal([code, named], ['BAD_OPTION', field])
  }
})

const none: SessionStore = { load: () => undefined, save: () => {}, delete: () => {} }

test('two servers, one after the other, have the sessions and tasks of one inMemory', async (t) => {
  const engine = inMemory()
  const first = await startOn(t, engine)
  const client = await new RawClient(t, first.url).open()
  assert.is(await client.text('count'), '1')
  const modern = new ModernClient(t, first.url)
  const taskId = await modern.start('greet')
  await modern.until(taskId, 'completed')
  await first.stop()
  const second = await startOn(t, engine)
  assert.is(await elsewhere(t, client, second.url).text('count'), '2')
  const done = await new ModernClient(t, second.url).until(taskId, 'completed')
  assert.is(at(done, 'result', 'content', '0', 'text'), 'hello nobody')
  const other = await startOn(t, inMemory())
  assert.is((await elsewhere(t, client, other.url).tell('notifications/initialized')).status, 404)
})

test('one inMemory serves one server at a time, through restarts of its holdings', async (t) => {
  const engine = inMemory()
  const first = await startOn(t, engine)
  const { code, field } = await refusal(startOn(t, engine))
  assert.equal([code, field], ['BAD_OPTION', 'engine'])
  await first.stop()
  const second = await startOn(t, engine)
  const client = await new RawClient(t, second.url).open()
  const back = until('progress', ({ child }) => child.id === 'transport')
  second.registry.whereis(`${second.name}/holdings`)?.kill()
  await back
  assert.is(await elsewhere(t, client, second.url).text('count'), '1')
})

test('records may be those of an object of a class', async (t) => {
  class Kept implements SessionStore {
    readonly shared = false
    readonly #records = new Map<string, SessionRecord>()

    load(id: string): SessionRecord | undefined {
      return this.#records.get(id)
    }

    save(record: SessionRecord): void {
      this.#records.set(record.id, record)
    }

    delete(id: string): void {
      this.#records.delete(id)
    }

    get size(): number {
      return this.#records.size
    }
  }
  const kept = new Kept()
  const first = await startOn(t, records(kept))
  const client = await new RawClient(t, first.url).open()
  assert.is(await client.text('count'), '1')
  await first.stop()
  const second = await startOn(t, records(kept))
  const same = elsewhere(t, client, second.url)
  assert.is(await same.text('count'), '2')
  assert.is(kept.size, 1)
  assert.is((await same.send('DELETE', undefined, same.headers())).status, 204)
  assert.is(kept.size, 0)
})

test.run()
