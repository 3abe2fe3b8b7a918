import { channel } from 'node:diagnostics_channel'
import * as assert from 'uvu/assert'
import { shutdown } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { gate, startTree } from '../_family.js'
import { scene, straysInTask, turns } from '../_strays.js'

const test = suite('containment of listeners')
const error = new Error('stray')
const never = new Promise<never>(() => {})

function throws(): never {
  throw error
}

test('a throw of a diagnostics subscriber crashes no actor, and Node warns', async (t) => {
  const at = await scene(t)
  const warnings: Error[] = []
  const onWarning = (warning: Error): number => warnings.push(warning)
  process.on('warning', onWarning)
  t.after(() => process.off('warning', onWarning))
  for (const name of ['caduceus.crash', 'caduceus.stray']) {
    channel(name).subscribe(throws)
    t.after(() => channel(name).unsubscribe(throws))
  }
  t.expectStray(3)
  // One for the stray itself, one for each subscriber that was told of it.
  const own = new Error('own')
  assert.is(await straysInTask(at, () => Promise.reject(own)), own)
  await turns()
  assert.equal(
    warnings.map((warning) => [
      (warning as { code?: string }).code,
      /subscriber of runtime events failed: Error: stray/.test(warning.message),
    ]),
    [
      ['CADUCEUS_SUBSCRIBER', true],
      ['CADUCEUS_SUBSCRIBER', true],
    ],
  )
  await at.untouched()
})

test('work started by a subscriber belongs to no actor', async (t) => {
  t.expectStray(2)
  const at = await scene(t)
  const warned = gate<Error>()
  process.once('warning', warned.open)
  const rejects = async (): Promise<void> => {
    await null
    throw error
  }
  channel('caduceus.stray').subscribe(rejects)
  t.after(() => channel('caduceus.stray').unsubscribe(rejects))
  const own = new Error('own')
  assert.is(await straysInTask(at, () => Promise.reject(own)), own)
  assert.match((await warned.opened).message, 'subscriber')
  await at.untouched()
})

test('a throwing exit watcher crashes its owner, and the other watchers are called', async (t) => {
  const at = await scene(t)
  const told: string[] = []
  const watched = at.tasks.start(() => never)
  const watching = at.tasks.start(
    () => {
      watched.ref.onExit(throws)
      return never
    },
    { name: 'watching' },
  )
  watched.ref.onExit(() => told.push('told'))
  watched.cancel()
  assert.is(await watching.result.catch((reason: unknown) => reason), error)
  assert.equal(told, ['told'])
  await at.untouched()
  const other = at.tasks.start(() => never)
  other.ref.onExit(throws)
  other.ref.onExit(() => told.push('told again'))
  other.ref.kill()
  assert.equal(told, ['told', 'told again'])
  assert.equal(at.strays.at(-1)?.owner, undefined)
  assert.is(await at.neighbour.call('id'), 'neighbour')
})

test('process listeners are removed with the last tree', async (t) => {
  const count = (): number[] => [
    process.listenerCount('uncaughtException'),
    process.listenerCount('unhandledRejection'),
  ]
  const before = count()
  const one = await startTree(t, { strategy: 'one_for_one' })
  const installed = count()
  assert.equal(
    installed,
    before.map((listeners) => listeners + 1),
  )
  const other = await startTree(t, { strategy: 'one_for_one' })
  assert.equal(count(), installed)
  await one.stop()
  await turns()
  assert.equal(count(), installed)
  assert.equal(await other.stop(), shutdown)
  await turns()
  assert.equal(count(), before)
})

test.run()
