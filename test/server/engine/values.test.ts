import * as assert from 'uvu/assert'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemWorld, type World } from 'caduceus/runtime'
import { FileValues } from '../../../server/engine/file-values.js'
import { MemoryValues, SealedValues, type ValueEngine } from '../../../server/engine/values.js'
import { suite } from '../../support/suite.js'

const test = suite('values of engines')

for (const kind of ['memory', 'files']) {
  test(`values in ${kind} are replaced by whoever knows what is there, and expire`, async (t) => {
    const { values, advance } = await make(kind, t)
    assert.is(await values.value('key'), undefined)
    assert.ok(await values.setValue('key', undefined, 'one', 100))
    assert.not(await values.setValue('key', undefined, 'two', 100))
    assert.ok(await values.setValue('key', 'one', 'two', 100))
    assert.is(await values.value('key'), 'two')
    advance(99)
    assert.is(await values.value('key'), 'two')
    advance(1)
    assert.is(await values.value('key'), undefined)
    assert.ok(await values.setValue('key', undefined, 'three', 100))
    assert.ok(await values.setValue('key', 'three', undefined, 100))
    assert.is(await values.value('key'), undefined)
  })

  test(`of those who replace a value in ${kind} at once, one does`, async (t) => {
    const { values } = await make(kind, t)
    await values.setValue('key', undefined, '0', 100)
    const all = Array.from({ length: 10 }, (_, at) => values.setValue('key', '0', String(at + 1), 100))
    const done = await Promise.all(all)
    assert.is(done.filter((isSet) => isSet).length, 1)
  })
}

test('values in memory that have expired leave no entry behind', () => {
  let now = 0
  const values = new MemoryValues(() => now)
  for (let at = 0; at < 1_500; at += 1) {
    values.setValue(`key ${at}`, undefined, 'text', 10)
    now += 1
  }
  assert.ok(values.size < 1_000, String(values.size))
})

test('values in memory have a bound: more are refused until there is room', () => {
  let now = 0
  const values = new MemoryValues(() => now, 2)
  values.setValue('a', undefined, 'text', 1_000)
  values.setValue('b', undefined, 'text', 2_000)
  assert.throws(() => values.setValue('c', undefined, 'text', 10), /no room/)
  assert.ok(values.setValue('a', 'text', 'other', 1_000))
  now = 1_500
  assert.ok(values.setValue('c', undefined, 'text', 10))
})

test('values in files outlive the program; a damaged one is as none', async (t) => {
  const { values, folder, world } = await make('files', t)
  await values.setValue('key', undefined, 'one', 1_000)
  const next = new FileValues(folder, false, world)
  assert.is(await next.value('key'), 'one')
  const [name = ''] = await readdir(folder)
  await writeFile(join(folder, name), 'something else')
  assert.is(await next.value('key'), undefined)
  assert.ok(await next.setValue('key', undefined, 'two', 1_000))
})

test('values in files that have expired are removed', async (t) => {
  const { values, folder, advance } = await make('files', t)
  for (let at = 0; at < 5; at += 1) await values.setValue(`key ${at}`, undefined, 'text', 10)
  advance(3_600_000)
  await values.setValue('other', undefined, 'text', 10)
  // the look at the folder is done when the turns of all its files are over, however long a disk takes
  while ((await readdir(folder)).length > 1);
})

test('an engine learns neither keys nor values, and cannot exchange them', async () => {
  const engine = new MemoryValues(() => 0)
  const seen: string[] = []
  const spy: ValueEngine = {
    value: (key) => engine.value(key),
    setValue(key, was, text, ttl) {
      seen.push(key, String(text))
      return engine.setValue(key, was, text, ttl)
    },
  }
  const secret = 's'.repeat(32)
  const values = new SealedValues(
    () => spy,
    () => [secret],
    systemWorld,
  )
  assert.ok(await values.set('token of ada', 'secret of ada', { ttl: 10, was: undefined }))
  assert.ok(await values.set('token of bob', 'secret of bob', { ttl: 10, was: undefined }))
  // a word with a space is in no sealed text by chance
  for (const text of seen)
    for (const read of [text, Buffer.from(text, 'base64url').toString('latin1')])
      assert.not.match(read, /token of|secret of/)
  assert.is((await values.get('token of ada'))?.text, 'secret of ada')
  const [ada = '', adas, bob = '', bobs] = seen
  engine.setValue(ada, adas, bobs, 10)
  engine.setValue(bob, bobs, undefined, 10)
  // what was sealed under another key is nothing, and can be replaced
  const found = await values.get('token of ada')
  assert.is(found?.text, '')
  assert.ok(await values.set('token of ada', 'again', { ttl: 10, was: found }))
  assert.is((await values.get('token of ada'))?.text, 'again')
})

test('values sealed with a key of before are opened; the first key seals', async () => {
  const engine = new MemoryValues(() => 0)
  const make = (...secrets: string[]): SealedValues =>
    new SealedValues(
      () => engine,
      () => secrets,
      systemWorld,
    )
  const [old, next] = ['o'.repeat(32), 'n'.repeat(32)]
  await make(old).set('key', 'one', { ttl: 10, was: undefined })
  const both = make(next, old)
  const was = await both.get('key')
  assert.is(was?.text, 'one')
  await both.set('key', 'two', { ttl: 10, was })
  assert.is((await make(next).get('key'))?.text, 'two')
})

async function make(
  kind: string,
  t: { after(fn: () => unknown): void },
): Promise<{ values: ValueEngine; folder: string; world: World; advance: (ms: number) => void }> {
  let now = 0
  const world = { ...systemWorld, now: () => now, date: () => now }
  const advance = (ms: number): void => {
    now += ms
  }
  if (kind === 'memory') return { values: new MemoryValues(() => now), folder: '', world, advance }
  const folder = await mkdtemp(join(tmpdir(), 'caduceus-values-'))
  t.after(() => rm(folder, { recursive: true }))
  return { values: new FileValues(folder, false, world), folder, world, advance }
}

test.run()
