import { chmodSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { files, type FilesOptions } from 'caduceus/server'
import { suite } from '../../support/suite.js'
import { fileSessions, makeRecord } from './_file-store.js'
import { makeFolder } from '../../support/folder.js'

const test = suite('file store')

test('a second store on the folder reads the saved dates, maps and bytes', async (t) => {
  const folder = makeFolder(t)
  const state = {
    at: new Date(5),
    tags: new Map([['a', 1n]]),
    bytes: new Uint8Array([1, 2]),
    none: undefined,
  }
  await fileSessions({ folder }).save(makeRecord('one', 3, state))
  const found = await fileSessions({ folder }).load('one')
  assert.equal(found, makeRecord('one', 3, state))
  assert.ok(found?.state.at instanceof Date && found.state.tags instanceof Map)
  assert.is(await fileSessions({ folder }).load('other'), undefined)
})

test('a removed folder is created again by the next save', async (t) => {
  const folder = makeFolder(t)
  const store = fileSessions({ folder })
  await store.save(makeRecord('one', 1))
  rmSync(folder, { recursive: true })
  assert.is(await store.load('one'), undefined)
  await store.save(makeRecord('two', 1))
  assert.is(statSync(folder).mode & 0o777, 0o700)
  assert.equal((await store.load('two'))?.id, 'two')
})

test('a deleted session is not found any more, and deleting it again is fine', async (t) => {
  const folder = makeFolder(t)
  const store = fileSessions({ folder })
  await store.save(makeRecord('one', 1))
  await store.delete('one')
  await store.delete('one')
  assert.is(await store.load('one'), undefined)
  assert.equal(readdirSync(folder), [])
})

test('folder and files are for their owner only, whatever the session ids are', async (t) => {
  const folder = join(makeFolder(t), 'deep', 'down')
  const store = fileSessions({ folder })
  const ids = ['../../outside', '/etc/passwd', 'a/b', '.', '..', 'nul\0', 'CON', 'x'.repeat(5_000), 'é']
  for (const id of ids) await store.save(makeRecord(id, 1, { id }))
  for (const id of ids) assert.equal((await store.load(id))?.state, { id })
  assert.is(statSync(folder).mode & 0o777, 0o700)
  const files = readdirSync(folder)
  assert.is(files.length, ids.length)
  for (const name of files) {
    assert.match(name, /^[0-9a-f]{64}\.session$/)
    assert.is(statSync(join(folder, name)).mode & 0o777, 0o600)
  }
})

test.slow('a torn, damaged or foreign file is ignored and overwritten', async (t) => {
  const folder = makeFolder(t)
  const store = fileSessions({ folder })
  await store.save(makeRecord('one', 2, { text: 'kept' }))
  await store.save(makeRecord('two', 2, { text: 'other' }))
  const [file = '', other = ''] = readdirSync(folder).map((name) => join(folder, name))
  const whole = readFileSync(file)
  const damaged = (at: number) => whole.map((byte, index) => (index === at ? byte ^ 1 : byte))
  const wrong = [
    ...Array.from({ length: whole.length }, (_, length) => whole.subarray(0, length)),
    ...Array.from({ length: whole.length }, (_, at) => damaged(at)),
    Buffer.concat([whole, Buffer.from('x')]),
    readFileSync(other),
  ]
  const id = (await store.load('one'))?.state.text === 'kept' && whole.includes('kept') ? 'one' : 'two'
  for (const bytes of wrong) {
    writeFileSync(file, bytes)
    assert.is(await fileSessions({ folder }).load(id), undefined)
  }
  const next = fileSessions({ folder })
  await next.save(makeRecord(id, 1))
  assert.is((await next.load(id))?.version, 1)
})

test('a damaged file is reported once, set aside and removed; its session is 404', async (t) => {
  const folder = makeFolder(t)
  let now = Date.now()
  const options = { folder, idleTimeout: 60_000 }
  const date = () => now
  await fileSessions(options, date).save(makeRecord('one', 2))
  const [file = ''] = readdirSync(folder)
  writeFileSync(join(folder, file), 'torn')
  const warned: string[] = []
  const hear = ({ message }: Error): void => void warned.push(message)
  process.on('warning', hear)
  t.after(() => process.off('warning', hear))
  const store = fileSessions(options, date)
  for (let loads = 0; loads < 3; loads += 1) assert.is(await store.load('one'), undefined)
  await new Promise(setImmediate)
  assert.equal(readdirSync(folder), [`${file}.damaged`])
  assert.is(warned.length, 1)
  assert.ok(warned[0]?.includes(`${file}.damaged`))
  now += 120_000
  await fileSessions(options, date).save(makeRecord('two', 1))
  const names = readdirSync(folder)
  assert.equal([names.length, names.includes(`${file}.damaged`)], [1, false])
})

test('the newest of overlapping saves stays', async (t) => {
  const store = fileSessions({ folder: makeFolder(t) })
  await Promise.all([1, 5, 3, 2, 4].map((version) => store.save(makeRecord('one', version))))
  assert.is((await store.load('one'))?.version, 5)
  await store.save(makeRecord('one', 4))
  assert.is((await store.load('one'))?.version, 5)
})

test('a save in progress does not restore a deleted session', async (t) => {
  const folder = makeFolder(t)
  const store = fileSessions({ folder })
  const saves = [store.save(makeRecord('one', 1)), store.save(makeRecord('one', 2))]
  await store.delete('one')
  await Promise.all(saves)
  assert.is(await store.load('one'), undefined)
})

test('saving a session again keeps it from being evicted next', async (t) => {
  const store = fileSessions({ folder: makeFolder(t), maxSessions: 2 })
  for (const [id, version] of [
    ['a', 1],
    ['b', 1],
    ['a', 2],
    ['c', 1],
  ] as const)
    await store.save(makeRecord(id, version))
  const found = await Promise.all(['a', 'b', 'c'].map((id) => store.load(id)))
  assert.equal(
    found.map((record) => record?.version),
    [2, undefined, 1],
  )
})

test('a deleted id starts anew without its old state', async (t) => {
  const store = fileSessions({ folder: makeFolder(t) })
  await store.save(makeRecord('a', 5))
  await store.delete('a')
  await store.save(makeRecord('a', 1))
  assert.is((await store.load('a'))?.version, 1)
})

test('the same version saved again replaces the first', async (t) => {
  const store = fileSessions({ folder: makeFolder(t) })
  for (const n of [1, 2]) await store.save(makeRecord('a', 1, { n }))
  assert.equal((await store.load('a'))?.state, { n: 2 })
})

test('at its bound the store forgets the oldest save, earlier programs first', async (t) => {
  const folder = makeFolder(t)
  let now = 1_000_000
  const options = { folder, maxSessions: 3 }
  const date = () => now++
  const first = fileSessions(options, date)
  for (const id of ['a', 'b', 'c']) await first.save(makeRecord(id, 1))
  await first.save(makeRecord('a', 2))
  const second = fileSessions(options, date)
  for (const id of ['d', 'e']) await second.save(makeRecord(id, 1))
  const found = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => second.load(id)))
  assert.equal(
    found.map((record) => record?.id),
    ['a', undefined, undefined, 'd', 'e'],
  )
  assert.is(readdirSync(folder).length, 3)
})

test('a session not saved for the idle time is gone, and its file too', async (t) => {
  const folder = makeFolder(t)
  let now = 1_000_000
  const options = { folder, idleTimeout: 1_000 }
  const date = () => now
  const store = fileSessions(options, date)
  await store.save(makeRecord('old', 1))
  now += 600
  await store.save(makeRecord('new', 1))
  now += 600
  assert.is(await store.load('old'), undefined)
  assert.is((await store.load('new'))?.version, 1)
  const next = fileSessions(options, date)
  await next.save(makeRecord('third', 1))
  await next.delete('third')
  // the old one goes beside the first save
  while (readdirSync(folder).length > 1) await new Promise((resolve) => setImmediate(resolve))
  assert.is((await next.load('new'))?.version, 1)
})

test('unfinished files of a killed program are removed', async (t) => {
  const folder = makeFolder(t)
  const abandoned = join(folder, '.0b7e1d8e-53cf-4b55-9d7a-0b3d3a8e2f10.tmp')
  const fresh = join(folder, '.1b7e1d8e-53cf-4b55-9d7a-0b3d3a8e2f10.tmp')
  const foreign = join(folder, 'notes.txt')
  for (const path of [abandoned, fresh, foreign]) writeFileSync(path, 'half')
  for (const path of [abandoned, foreign]) utimesSync(path, 0, 0)
  const store = fileSessions({ folder })
  await store.save(makeRecord('one', 1))
  assert.equal(
    readdirSync(folder)
      .filter((name) => !name.endsWith('.session'))
      .sort(),
    ['.1b7e1d8e-53cf-4b55-9d7a-0b3d3a8e2f10.tmp', 'notes.txt'],
  )
})

test('a record that is too large is refused, and the one before stays', async (t) => {
  const store = fileSessions({ folder: makeFolder(t), maxBytes: 1_000 })
  await store.save(makeRecord('one', 1))
  const error = await rejection(store.save(makeRecord('one', 2, { text: 'x'.repeat(1_000) })))
  assert.equal([error.code, /at most 1000 bytes/.test(error.message)], ['BAD_STATE', true])
  assert.is((await store.load('one'))?.version, 1)
  assert.is((await rejection(store.save(makeRecord('one', 2, { fn: () => {} })))).code, 'BAD_STATE')
  await store.save(makeRecord('one', 3))
  assert.is((await store.load('one'))?.version, 3)
})

test('a folder that cannot be written fails the save and not the program', async (t) => {
  const folder = makeFolder(t)
  const store = fileSessions({ folder })
  await store.save(makeRecord('one', 1))
  chmodSync(folder, 0o500)
  const isRoot = process.getuid?.() === 0
  if (!isRoot) assert.is((await rejection(store.save(makeRecord('one', 2)))).code, 'EACCES')
  chmodSync(folder, 0o700)
  await store.save(makeRecord('one', 3))
  assert.is((await store.load('one'))?.version, 3)
})

test('wrong options are refused by name', (t) => {
  const folder = makeFolder(t)
  const file = join(folder, 'file')
  writeFileSync(file, '')
  const wrong: [unknown, string][] = [
    [undefined, 'options'],
    [{}, 'folder'],
    [{ folder: '' }, 'folder'],
    [{ folder: file }, 'folder'],
    [{ folder: join(file, 'below') }, 'folder'],
    [{ folder, maxBytes: 1024.5 }, 'maxBytes'],
    [{ folder, maxBytes: Number.NaN }, 'maxBytes'],
    [{ folder, durable: 1 }, 'durable'],
    [{ folder, maxSessions: 5 }, 'maxSessions'],
    [{ folder, directory: '.' }, 'directory'],
  ]
  for (const [options, field] of wrong) {
    try {
      files(options as FilesOptions)
      assert.unreachable(`${field} was taken`)
    } catch (error) {
      const { code, data } = error as { code?: string; data?: { field: string } }
      assert.equal([code, data?.field], ['BAD_OPTION', field])
    }
  }
})

test('a durable store keeps sessions as well', async (t) => {
  const folder = makeFolder(t)
  await fileSessions({ folder, durable: true }).save(makeRecord('one', 1))
  assert.is((await fileSessions({ folder }).load('one'))?.version, 1)
})

async function rejection(promise: unknown): Promise<{ code?: string; message: string }> {
  try {
    await promise
  } catch (error) {
    return error as { code?: string; message: string }
  }
  throw new Error('expected a rejection')
}

test.run()
