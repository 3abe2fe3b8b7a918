import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { defineTool, files, records, type SessionRecord, type SessionStore } from 'caduceus/server'
import { suite } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { killAndWait, startTestServer } from '../_servers.js'

const test = suite('sessions: saved before it is told')

const append = defineTool({
  name: 'append',
  input: { type: 'object', properties: { word: { type: 'string' } } },
  session: true,
  async run({ word }, ctx) {
    return String(await ctx.update('words', (words = '') => `${words}${word}`))
  },
})
const read = defineTool({
  name: 'read',
  session: true,
  run: async (_nothing, ctx) => String(await ctx.get('words')),
})

/** A store whose saves wait in `saves` until a test lets them through, or are refused. */
function makeStore() {
  const records = new Map<string, SessionRecord>()
  const state = { isOpen: true, isBroken: false }
  const saves: (() => void)[] = []
  const arrived: (() => void)[] = []
  const store: SessionStore = {
    load: (id) => records.get(id),
    async save(record: SessionRecord) {
      if (state.isBroken) throw new Error('the disk is full')
      if (!state.isOpen) {
        const passed = new Promise<void>((resolve) => saves.push(resolve))
        for (const tell of arrived.splice(0)) tell()
        await passed
      }
      const known = records.get(record.id)
      if (known === undefined || known.version < record.version) records.set(record.id, record)
    },
    delete: (id) => records.delete(id),
  }
  const words = (): unknown => [...records.values()][0]?.state.words
  return { store, state, saves, words, nextSave: () => new Promise<void>((resolve) => arrived.push(resolve)) }
}

test('a change is visible only after it was saved', async (t) => {
  const { store, state, words } = makeStore()
  const server = await startTestServer(t, [append, read], { engine: records(store) })
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('append', { word: 'a' }), 'a')
  state.isBroken = true
  assert.is((await client.call('append', { word: 'b' })).error?.code, -32603)
  assert.is((await client.call('read')).error?.code, -32603, 'it would tell what a crash takes back')
  assert.is(words(), 'a')
  state.isBroken = false
  assert.is(await client.text('read'), 'ab')
  assert.is(words(), 'ab')
})

test('a change that no store can hold is undone, and those after it are saved', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'saved-first-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const odd = defineTool({
    name: 'odd',
    session: true,
    async run(_nothing, ctx) {
      await ctx.update('words', (words = '') => `${words}!`)
      return String(await ctx.update('odd', () => 'x'.repeat(5_000)))
    },
  })
  const server = await startTestServer(t, [append, read, odd], { engine: files({ folder, maxBytes: 4_096 }) })
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('append', { word: 'a' }), 'a')
  assert.is((await client.call('odd')).error?.code, -32603)
  assert.is(await client.text('read'), 'a')
  assert.is(await client.text('append', { word: 'b' }), 'ab')
  await killAndWait(server, 'test/base')
  assert.is(await client.text('read'), 'ab')
})

test('a read waits for the save of a pending change', async (t) => {
  const { store, state, saves, words, nextSave } = makeStore()
  const server = await startTestServer(t, [append, read], { engine: records(store) })
  const client = await new RawClient(t, server.url).open()
  state.isOpen = false
  const saving = nextSave()
  const appended = client.text('append', { word: 'a' })
  await saving
  const savingAgain = nextSave()
  let told = ''
  const reading = client.text('read').then((text) => {
    told = `${text}, saved ${words()}`
  })
  await savingAgain
  state.isOpen = true
  for (const pass of saves) pass()
  assert.is(await appended, 'a')
  await reading
  assert.is(told, 'a, saved a')
})

test('a read of saved values does not wait', async (t) => {
  let saves = 0
  const { store } = makeStore()
  const counted: SessionStore = {
    ...store,
    save: (record) => {
      saves += 1
      return store.save(record)
    },
  }
  const server = await startTestServer(t, [append, read], { engine: records(counted) })
  const client = await new RawClient(t, server.url).open()
  await client.text('append', { word: 'a' })
  const before = saves
  for (let n = 0; n < 3; n++) assert.is(await client.text('read'), 'a')
  assert.is(saves, before)
})

test.run()
