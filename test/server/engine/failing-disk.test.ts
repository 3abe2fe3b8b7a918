import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { createFakeClock } from 'caduceus/runtime'
import { files } from 'caduceus/server'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { failDisk, type Step } from './_failing-disk.js'
import { fileSessions, makeRecord } from './_file-store.js'
import { makeFolder } from '../../support/folder.js'
import { count, echo, startTestServer } from '../_servers.js'

const test = suite('disks that fail')
const ping = { jsonrpc: '2.0', id: 'ping', method: 'ping' }

/** A folder for an engine; the disk fails below the one of its sessions. */
function makeDisk(t: TestContext) {
  const root = makeFolder(t)
  const folder = join(root, 'sessions')
  return { root, folder, disk: failDisk(t, folder) }
}

/** A server whose sessions are on a disk that will fail, with a session that has counted to 1, and another. */
async function start(t: TestContext) {
  const { root, folder, disk } = makeDisk(t)
  const engine = files({ folder: root, durable: true })
  const server = await startTestServer(t, [count, echo], { engine })
  const open = () => new RawClient(t, server.url).open()
  const [client, other] = [await open(), await open()]
  for (const one of [client, other]) assert.is(await one.text('count'), '1')
  const id = String(client.sessionId)
  const saved = async () => (await fileSessions({ folder, durable: true }).load(id))?.state.count
  const killAll = async () => {
    for (const { ref } of await server.sessions()) ref?.kill()
  }
  return { folder, disk, server, client, other, open, id, saved, killAll }
}

const saving: readonly (readonly [code: string, ...steps: Step[]])[] = [
  ['ENOSPC', 'open to write'],
  ['EMFILE', 'open to write'],
  ['EACCES', 'open to write'],
  ['EROFS', 'open to write', 'unlink'],
  ['ENOSPC', 'write'],
  ['EIO', 'write', 'unlink'],
  ['EIO', 'utimes'],
  ['EIO', 'fsync'],
  ['ENOSPC', 'close'],
  ['EACCES', 'rename'],
  ['EIO', 'rename', 'unlink'],
]

for (const [code, ...steps] of saving)
  test(`${code} at ${steps.join(' and ')}: the call that saves fails, and nothing else`, async (t) => {
    const { disk, client, other, open, id, saved, killAll } = await start(t)
    disk.fail(code, ...steps)
    const { error } = await client.call('count')
    assert.is(error?.code, -32603)
    assert.not.match(String(error?.message), code)
    assert.ok(disk.steps.includes(steps[0] as Step))
    // those that need no disk notice nothing, and what was saved before is there, whole
    for (const one of [client, other]) assert.is(await one.text('echo', { text: 'here' }), 'here')
    assert.is(await saved(), 1)
    disk.mend()
    assert.is(await client.text('count'), '3', 'what was done is done, and saved with the next call')
    assert.is(await saved(), 3)
    assert.is(await other.text('count'), '2')
    await killAll()
    assert.is(client.sessionId, id)
    assert.is(await client.text('count'), '4')
    assert.is(await (await open()).text('count'), '1')
  })

for (const step of ['open the folder', 'fsync the folder'] as const)
  test(`EIO at ${step}: a save is not reported as durable`, async (t) => {
    const { disk, client, saved } = await start(t)
    disk.fail('EIO', step)
    assert.is((await client.call('count')).error?.code, -32603)
    disk.mend()
    assert.is(await client.text('count'), '3')
    assert.is(await saved(), 3)
  })

for (const step of ['readdir', 'stat'] as const)
  test(`EIO at ${step}: the folder is listed later, and sessions are saved`, async (t) => {
    const { root, folder, disk } = makeDisk(t)
    const earlier = fileSessions({ folder })
    for (const id of ['a', 'b', 'c']) await earlier.save(makeRecord(id, 1))
    const server = await startTestServer(t, [count], {
      engine: files({ folder: root }),
      limits: { sessions: 2 },
    })
    disk.fail('EIO', step)
    const client = await new RawClient(t, server.url).open()
    assert.is(await client.text('count'), '1')
    assert.ok(disk.steps.includes(step))
    disk.mend()
    assert.is(await client.text('count'), '2')
    assert.is(readdirSync(folder).length, 2, 'those of earlier programs count again')
  })

for (const step of ['open to read', 'read', 'close what was read'] as const)
  test(`EIO at ${step}: an unreadable session is not treated as gone`, async (t) => {
    const { disk, client, other, killAll } = await start(t)
    await killAll()
    disk.fail('EIO', step)
    const { status, messages } = await client.post(ping)
    assert.equal([status, messages[0]?.error?.code], [500, -32603])
    disk.mend()
    assert.is(await client.text('count'), '2')
    assert.is(await other.text('count'), '2')
  })

test('a session that cannot be saved at its opening is refused and leaves nothing', async (t) => {
  const { disk, server, folder, open } = await start(t)
  disk.fail('ENOSPC', 'write')
  const refused = await open().catch((error: Error) => error)
  assert.match(String(refused), /initialize: 500 .*-32603/)
  assert.is((await server.sessions()).length, 2)
  assert.is(readdirSync(folder).length, 2)
  disk.mend()
  assert.is(await (await open()).text('count'), '1')
})

test('a failed DELETE is an error and can be repeated', async (t) => {
  const { disk, folder, client, other } = await start(t)
  const end = () => client.send('DELETE', undefined, client.headers())
  disk.fail('EIO', 'unlink')
  assert.is((await end()).status, 500)
  disk.mend()
  assert.is((await end()).status, 204)
  assert.is((await client.post(ping)).status, 404)
  assert.is(readdirSync(folder).length, 1)
  assert.is(await other.text('count'), '2')
})

test('a failed save leaves no file once it rejects', async (t) => {
  const folder = makeFolder(t)
  const disk = failDisk(t, folder)
  disk.fail('ENOSPC', 'write')
  const saved = fileSessions({ folder }).save(makeRecord('a', 1)) as Promise<void>
  assert.is(
    await saved.then(
      () => [],
      () => readdirSync(folder).length,
    ),
    0,
  )
})

test('EIO at unlink: a record that cannot be removed now goes with a later listing', async (t) => {
  const folder = makeFolder(t)
  const disk = failDisk(t, folder)
  let now = 1_000_000
  const options = { folder, idleTimeout: 1_000 }
  const date = () => now
  await fileSessions(options, date).save(makeRecord('old', 1))
  now += 2_000
  const store = fileSessions(options, date)
  disk.fail('EIO', 'unlink')
  await store.save(makeRecord('new', 1))
  while (!disk.steps.includes('unlink')) await new Promise((resolve) => setImmediate(resolve))
  await store.save(makeRecord('new', 2))
  assert.is(readdirSync(folder).length, 2)
  disk.mend()
  now += 200
  await store.save(makeRecord('new', 3))
  while (readdirSync(folder).length > 1) await new Promise((resolve) => setImmediate(resolve))
  assert.is((await store.load('new'))?.version, 3)
})

test('a keep-alive save fails no call', async (t) => {
  const clock = createFakeClock()
  const { root, disk } = makeDisk(t)
  const timeouts = { hibernateAfter: Number.POSITIVE_INFINITY }
  const server = await startTestServer(t, [count, echo], { clock, engine: files({ folder: root }), timeouts })
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('count'), '1')
  await clock.advance(4 * 60_000)
  disk.fail('ENOSPC', 'open to write')
  const before = disk.steps.length
  assert.is(await client.text('echo', { text: 'here' }), 'here')
  assert.ok(disk.steps.slice(before).includes('open to write'))
  disk.mend()
  await clock.advance(4 * 60_000)
  const then = disk.steps.length
  assert.is(await client.text('echo', { text: 'again' }), 'again')
  assert.ok(disk.steps.slice(then).includes('rename'))
})

test('only a durable store waits for the disk, and all that is opened is closed', async (t) => {
  const folder = makeFolder(t)
  const disk = failDisk(t, folder)
  const took = async (durable: boolean | undefined) => {
    const store = fileSessions({ folder, ...(durable !== undefined && { durable }) })
    await store.save(makeRecord('a', 1))
    disk.steps.splice(0)
    await store.save(makeRecord('a', 2))
    await store.load('a')
    return [...disk.steps]
  }
  const written = ['open to write', 'write', 'utimes']
  const read = ['open to read', 'read', 'close what was read']
  for (const durable of [undefined, false])
    assert.equal(await took(durable), [...written, 'close', 'rename', ...read])
  assert.equal(await took(true), [
    ...written,
    ...['fsync', 'close', 'rename', 'open the folder', 'fsync the folder', 'close what was read'],
    ...read,
  ])
})

test.run()
