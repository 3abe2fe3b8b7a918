import * as assert from 'uvu/assert'
import { allRevisions, dialect20241105, dialect20251125 } from 'caduceus/protocol'
import { systemWorld } from 'caduceus/runtime'
import { definePrompt, defineServer, defineTool, type SessionRecord } from 'caduceus/server'
import { mergedAssigns, SessionFrame } from '../../../server/context/session-frame.js'
import { Catalog } from '../../../server/catalog/catalog.js'
import { type Holdings, RestoreLimit } from '../../../server/holdings/holdings-actor.js'
import { SessionRecords } from '../../../server/sessions/records.js'
import { SessionReaders } from '../../../server/sessions/readers.js'
import { SessionState } from '../../../server/context/session-state.js'
import { SessionWishes } from '../../../server/requests/session-wishes.js'
import { place } from '../../runtime/tasks/_tasks.js'
import { heapInUse } from '../../support/collected.js'
import { ResourceUpdates } from '../../../server/holdings/resource-updates.js'
import { suite } from '../../support/suite.js'
import { makeRecord, memorySessions } from '../engine/_file-store.js'

const nobody = { transport: 'http', headers: {}, remoteAddress: undefined }

const test = suite('server session parts')

test('subscriptions of a session have a bound in characters, given back one by one', () => {
  const wishes = new SessionWishes({}, () => undefined)
  const uri = (n: number, length = 8_000) => `x:${n} `.padEnd(length, 'y')
  assert.throws(() => wishes.subscribe(uri(0, 8_193), () => undefined), '8192 characters at most')
  for (let n = 0; n < 32; n++) wishes.subscribe(uri(n), () => undefined)
  assert.throws(() => wishes.subscribe(uri(32), () => undefined), 'may have 262144 characters')
  wishes.unsubscribe(uri(0))
  wishes.unsubscribe(uri(0))
  wishes.subscribe(uri(32), () => undefined)
  assert.throws(() => wishes.subscribe(uri(33), () => undefined), 'may have 262144 characters')
})

test('a session has up to 1,000 unique subscriptions, released at its end', () => {
  const wanted: string[] = []
  const want = (uri: string) => {
    wanted.push(uri)
    return () => void wanted.splice(wanted.indexOf(uri), 1)
  }
  const record = { subscriptions: Array.from({ length: 999 }, (_, n) => `x:${n}`) }
  const wishes = new SessionWishes(record, want)
  wishes.subscribe('x:last', want)
  wishes.subscribe('x:last', want)
  assert.throws(() => wishes.subscribe('x:more', want), 'a session may have 1000 subscriptions')
  wishes.unsubscribe('x:0')
  wishes.subscribe('x:more', want)
  assert.equal([wishes.isSubscribed('x:0'), wishes.isSubscribed('x:more')], [false, true])
  assert.is(wanted.length, 1_000)
  wishes.adopt({ subscriptions: ['x:1', 'x:new'] }, want)
  assert.equal(wanted, ['x:1', 'x:new'])
  wishes.end()
  assert.equal(wanted, [])
  assert.equal(wishes.toRecord().subscriptions, ['x:1', 'x:new'])
})

test('a memory store keeps the newest record of each session, up to its bound', () => {
  const store = memorySessions({ maxSessions: 2 }, () => 0)
  store.save(record('a', 1))
  store.save(record('b', 1))
  store.save(record('a', 3))
  store.save(record('a', 2))
  assert.is((store.load('a') as SessionRecord).version, 3)
  store.save(record('c', 1))
  assert.equal(
    ['a', 'b', 'c'].map((id) => store.load(id) !== undefined),
    [true, false, true],
  )
  store.delete('a')
  assert.is(store.load('a'), undefined)
})

test('a memory store accepts the same version again as a new save', () => {
  let now = 0
  const store = memorySessions({ idleTimeout: 100 }, () => now)
  store.save(record('a', 1))
  now = 60
  store.save({ ...record('a', 1), state: { n: 2 } })
  now = 120
  assert.equal((store.load('a') as SessionRecord).state, { n: 2 })
})

test('a memory store forgets what was not saved for its idle time', () => {
  let now = 0
  const store = memorySessions({ idleTimeout: 100 }, () => now)
  store.save(record('a', 1))
  now = 99
  assert.ok(store.load('a'))
  store.save(record('b', 1))
  now = 100
  assert.is(store.load('a'), undefined)
  assert.ok(store.load('b'))
})

test('a state value is swapped only against its latest version', () => {
  const state = new SessionState({ kept: [1], ['__proto__']: 'odd' })
  const seen = state.read('kept')
  assert.is(state.swap('kept', seen.version, [2]), undefined)
  assert.equal(state.swap('kept', seen.version, [3])?.value, [2])
  assert.equal(state.read('none'), { value: undefined, version: 0 })
  assert.is(state.swap('none', 0, 'new'), undefined)
  assert.is(state.swap('kept', state.read('kept').version, undefined), undefined)
  assert.equal(Object.entries(state.toRecord()), [
    ['__proto__', 'odd'],
    ['none', 'new'],
  ])
})

test('a newer state of another program replaces the local one', () => {
  const state = new SessionState({ a: 1, b: 2 })
  const seen = state.read('b')
  state.adopt({ b: 3 })
  assert.equal([state.toRecord(), state.read('a').value], [{ b: 3 }, undefined])
  assert.is(state.swap('b', seen.version, 4)?.value, 3, 'who has seen the old one is told')
})

test('a third crash within five seconds is too many, and quiet sessions are forgotten', () => {
  const limit = new RestoreLimit()
  assert.equal([limit.add('a', 0), limit.add('a', 1_000), limit.add('a', 5_000)], [true, true, false])
  assert.equal([limit.add('b', 0), limit.add('b', 1_000), limit.add('b', 5_001)], [true, true, true])
  limit.forget('a')
  assert.ok(limit.add('a', 5_002))
  for (let n = 0; n < 5_000; n++) limit.add(`x${n}`, 20_000 + n * 10)
  assert.equal([limit.add('a', 80_000), limit.add('a', 80_000), limit.add('a', 80_000)], [true, true, false])
})

test('a message goes to the newest ready reader, and the oldest of too many is closed', () => {
  const heard: string[] = []
  const reader = (name: string, takes: boolean) => ({
    send: () => takes && heard.push(name) > 0,
    end: () => void heard.push(`${name} ended`),
  })
  const readers = new SessionReaders(0, { server: 'a', tree: 1, process: 1 })
  const catalog = { version: 1, changedSince: () => ['tools' as const] }
  readers.tellCatalog(catalog)
  readers.attach(reader('a', true))
  readers.attach(reader('b', true))
  readers.attach(reader('c', false))
  readers.tellCatalog(catalog)
  readers.tellCatalog(catalog)
  assert.equal(heard, ['b'])
  for (let n = readers.size; n < 17; n++) readers.attach(reader(`d${n}`, true))
  assert.equal([readers.size, heard], [16, ['b', 'a ended']])
})

test('a catalog serializes a page once per revision, until components change', () => {
  const tools = ['a', 'b', 'c'].map((name) => defineTool({ name, title: name, run: () => name }))
  const definition = defineServer({ name: 'test', version: '1', tools })
  const catalog = new Catalog(definition, { pageSize: 2, revisions: allRevisions }, systemWorld)
  const { version } = catalog
  const viewer = { dialect: dialect20251125, peer: nobody }
  const page = () => catalog.tools.page(undefined, viewer)
  const first = page()
  assert.is(page(), first)
  assert.equal(JSON.parse(first.text), first.result)
  assert.equal(
    catalog.tools
      .page(undefined, { ...viewer, dialect: dialect20241105 })
      .result.tools.map((tool) => 'title' in tool),
    [false, false],
  )
  assert.throws(() => catalog.tools.page('nonsense', viewer), /cursor/)
  assert.is(catalog.add(tools[0] as (typeof tools)[0]), false)
  assert.is(page(), first)
  assert.equal([catalog.remove('tool', 'a'), catalog.remove('tool', 'a')], [true, false])
  assert.is(catalog.version, version + 1)
  assert.equal(
    page().result.tools.map(({ name }) => name),
    ['b', 'c'],
  )
  assert.is(catalog.tools.get('a'), undefined)
})

test('a catalog reports changed lists, declared ones only', () => {
  const prompt = definePrompt({ name: 'p', get: () => 'x' })
  const definition = defineServer({ name: 'test', version: '1', tools: [], prompts: [] })
  const catalog = new Catalog(definition, { pageSize: 10, revisions: allRevisions }, systemWorld)
  const { version } = catalog
  assert.equal(
    [catalog.declares({ kind: 'tool' }), catalog.declares({ kind: 'resourceTemplate' })],
    [true, false],
  )
  assert.ok(catalog.add(prompt))
  assert.equal(catalog.changedSince(version), ['prompts'])
  assert.ok(catalog.add(defineTool({ name: 'a', run: () => 'a' })))
  assert.equal(
    [catalog.changedSince(version), catalog.changedSince(version + 1), catalog.changedSince(version + 2)],
    [['tools', 'prompts'], ['tools'], []],
  )
  assert.equal(catalog.changedSince(version + 99), ['tools', 'prompts'])
  assert.equal(catalog.changedSince(version - 99), ['tools', 'prompts'])
})

function record(id: string, version: number): SessionRecord {
  return {
    id,
    version,
    revision: '2025-11-25',
    client: { name: 'x', version: '1' },
    capabilities: {},
    catalog: 0,
    state: {},
  }
}

test('what is said of one request counts more', () => {
  const frame = new SessionFrame()
  const own = Object.freeze({ user: 'Ada' })
  assert.is(mergedAssigns(frame.assigns, own), own)
  frame.assign({ user: 'Bob', db: 1 })
  assert.equal(mergedAssigns(frame.assigns, own), { user: 'Ada', db: 1 })
  assert.is(mergedAssigns(frame.assigns, undefined), frame.assigns)
  assert.equal(mergedAssigns(undefined, undefined), {})
})

test.slow('sessions that crashed once long ago cost no memory, however many', async () => {
  const limit = new RestoreLimit()
  const before = await heapInUse()
  // each is quiet by the time the next thousand come
  for (let count = 0; count < 100_000; count++) assert.is(limit.add(`session ${count}`, count * 10), true)
  const more = (await heapInUse()) - before
  assert.ok(more < 1_000_000, `${more} bytes more`)
  assert.is(limit.add('session 99999', 1_000_000), true)
  assert.is(limit.add('session 99999', 1_000_000), false)
})

test('a session that could not be deleted is there as before, and can be ended again', async (t) => {
  const { tasks } = await place(t)
  const kept = memorySessions()
  const broken = { now: true }
  const store = {
    save: () => {},
    load: (id: string) => kept.load(id),
    delete(id: string) {
      if (broken.now) throw new Error('EIO')
      return kept.delete(id)
    },
  }
  await kept.save(makeRecord('one', 1))
  const settings = { definition: { info: { name: 'test' } } }
  const records = new SessionRecords({ settings, store } as unknown as Holdings, tasks, systemWorld)
  const error = await records.end('one').catch((reason: Error) => reason)
  assert.is((error as Error).message, 'EIO')
  assert.is((await records.load('one')).record.id, 'one')
  broken.now = false
  await records.end('one')
  assert.is(
    ((await records.load('one').catch((reason) => reason)) as { code: string }).code,
    'SESSION_NOT_FOUND',
  )
})

test('any resource may have been updated when news was missed', () => {
  const updates = new ResourceUpdates()
  updates.note('a')
  const { last } = updates
  updates.note('b')
  assert.equal(
    ['a', 'b', 'c'].map((uri) => updates.isAfter(last, uri)),
    [false, true, false],
  )
  for (let i = 0; i < 10_000; i++) updates.note(`${i}`)
  // it is not known any more which were updated first
  assert.equal([updates.isAfter(last, 'c'), updates.isAfter(updates.last, 'c')], [true, false])
  updates.noteAll()
  assert.equal([updates.isAfter(updates.last - 1, 'c'), updates.isAfter(updates.last, 'c')], [true, false])
})

test.run()
