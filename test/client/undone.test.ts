import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { fileAuthStorage } from 'caduceus/client'
import { defineActor, Registry, startActor } from 'caduceus/runtime'
import { http, sharedClients } from 'caduceus/transports'
import { openDescriptors } from '../support/counted.js'
import { suite, type TestContext } from '../support/suite.js'
import { json, listen, result } from '../transports/_http.js'
import { refuse, stateless } from './_modern.js'
import { startPool } from './pool/_pool.js'
import { raw, rejection, watch } from './_raw.js'
import { own } from './share/_share.js'

const test = suite('what a client keeps is let go of', { timeout: 20_000 })

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'caduceus-auth-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

test('a pool member that cannot start is retried until it can', async (t) => {
  const registry = new Registry()
  const taken = defineActor({ name: 'taken', init: () => ({}) })
  const options = { logger: false, registry, name: 'client pool-2' } as const
  const ref = await startActor(taken, undefined, options)
  const { pool, event, events } = await startPool(t, { size: 1, registry })
  assert.is(pool.add(), 'pool-2')
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve)) // it has been tried by then
  assert.not.ok(events.all.some(({ type, member }) => type === 'ready' && member === 'pool-2'))
  ref.kill()
  await event('ready', 'pool-2')
  assert.equal(
    pool.members().map(({ name }) => name),
    ['pool-1', 'pool-2'],
  )
})

test('a cursor unknown to the server drops the pages read, and the list starts over', async (t) => {
  const asked: unknown[] = []
  const kept = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' }
  const { url } = await listen(
    t,
    stateless((seen) => {
      const { cursor } = (seen.message.params ?? {}) as { cursor?: string }
      asked.push(cursor)
      if (cursor !== undefined) return refuse(seen, -32602)
      json(seen, result(seen, { ...kept, tools: [], nextCursor: 'two' }))
    }),
  )
  const { client } = watch(t, { transport: http(url), era: 'modern' })
  await client.ready()
  await client.listTools()
  await client.listTools()
  assert.equal(asked, [undefined])
  assert.is((await rejection(client.listTools({ cursor: 'two' }))).code, -32602)
  await client.listTools()
  assert.equal(asked, [undefined, 'two', undefined])
})

test('a shared client that has not met its server yet is listed by its phase alone', async (t) => {
  const { path, client } = await own(t, {}, { transport: raw(['--init', 'hang']) })
  while (client.state.phase !== 'initializing') await new Promise((resolve) => setImmediate(resolve))
  assert.equal(await sharedClients({ path }), [{ name: 'files', phase: 'initializing' }])
})

test.slow('sign-in files: every failure closes descriptors and removes files', async (t) => {
  const path = await folder(t)
  const storage = fileAuthStorage(path)
  await storage.write('k', { n: 0 })
  const before = openDescriptors()
  for (let n = 1; n <= 100; n++) {
    await storage.write('k', { n })
    await storage.exclusive('k', async () => storage.read('k'), t.signal)
  }
  assert.equal(await storage.read('k'), { n: 100 })
  assert.is(openDescriptors(), before)
  assert.is((await readdir(path)).length, 1)
})

test('sign-in files: a failed write, read or removal is reported and leaves no part', async (t) => {
  const path = await folder(t)
  const storage = fileAuthStorage(path)
  await storage.write('k', { n: 1 })
  const [name = ''] = await readdir(path)
  await storage.write('k', undefined)
  await storage.write('k', undefined) // gone already: fine
  await mkdir(join(path, name)) // a folder in the place of the file
  await writeFile(join(path, name, 'x'), '')
  const before = openDescriptors()
  for (let n = 0; n < 20; n++) {
    // what is no file is refused by its name, and not read
    assert.match((await rejection(storage.read('k'))).message, name)
    for (const work of [() => storage.write('k', { n: 2 }), () => storage.write('k', undefined)]) {
      const { code } = await work().then(
        () => assert.unreachable('expected an error') as never,
        (error) => error as { code: string },
      )
      assert.match(code, /^E(?:ISDIR|PERM|NOTEMPTY|EXIST)$/)
    }
  }
  assert.is(openDescriptors(), before)
  assert.equal(await readdir(path), [name])
  const nowhere = fileAuthStorage(join(path, name, 'x', 'below a file'))
  assert.match(String(await rejection(nowhere.write('k', { n: 1 }))), /ENOTDIR/)
  assert.match(String(await rejection(nowhere.exclusive('k', async () => 1, t.signal))), /ENOTDIR/)
})

test.run()
