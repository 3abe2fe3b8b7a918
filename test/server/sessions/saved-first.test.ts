import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import {
  defineTool,
  files,
  records,
  ServerError,
  type SessionRecord,
  type SessionStore,
  type ToolContext,
} from 'caduceus/server'
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

test('a change that no store can hold is refused at once, and in the way of nothing', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'saved-first-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const long = 'x'.repeat(3_000)
  const put = (ctx: ToolContext, key: string): Promise<unknown> => ctx.update(key, () => long)
  const tool = (name: string, run: (ctx: ToolContext) => Promise<string>) =>
    defineTool({ name, session: true, run: (_nothing, ctx) => run(ctx) })
  const tools = [
    tool('stumbles', async (ctx) => {
      await ctx.update('words', (words = '') => `${words}!`)
      await put(ctx, 'odd')
      const problem = await put(ctx, 'odder').catch((error: unknown) => error)
      return problem instanceof ServerError ? `${problem.code}: ${problem.message}` : 'taken'
    }),
    tool('throws', async (ctx) => {
      await put(ctx, 'odder').catch(() => put(ctx, 'oddest'))
      return 'taken'
    }),
    tool('clears', async (ctx) => String(await ctx.update('odd', () => undefined))),
  ]
  const server = await startTestServer(t, [append, read, ...tools], {
    engine: files({ folder, maxBytes: 4_096 }),
  })
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('append', { word: 'a' }), 'a')
  assert.match(
    await client.text('stumbles'),
    /^BAD_STATE: the state of a session: expected at most 4096 bytes/,
  )
  for (let n = 0; n < 2; n += 1) assert.ok((await client.call('throws')).result?.isError)
  assert.is(await client.text('append', { word: 'b' }), 'a!b')
  await killAndWait(server, 'test/base')
  assert.is(await client.text('read'), 'a!b')
  // what is there may become less, also where it is too much together with something new
  assert.is(await client.text('clears'), 'undefined')
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
