import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { Registry } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { startPool } from './_pool.js'
import { rawNear, rejection } from '../_raw.js'

const test = suite('members of a pool come and go')

test('members come and go under load without a lost call', async (t) => {
  const { pool, event, events } = await startPool(t, { size: 2 })
  const outcomes: (string | undefined)[] = []
  let left = 400
  const work = async (): Promise<void> => {
    while (left-- > 0) outcomes.push((await pool.callTool('echo', { text: 'x' })).text)
  }
  const load = Promise.all(Array.from({ length: 8 }, work))
  const third = pool.add()
  await event('ready', third)
  assert.is(await pool.remove('pool-1'), true)
  const fourth = pool.add()
  await event('ready', fourth)
  assert.is(await pool.remove('pool-2'), true)
  assert.is(await pool.remove('pool-2'), false)
  await load
  assert.equal(
    outcomes,
    Array.from({ length: 400 }, () => 'x'),
  )
  assert.equal(
    pool.members().map(({ name }) => name),
    [third, fourth],
  )
  const told = events.all.filter(({ type }) => type === 'added' || type === 'removed')
  assert.equal(
    told.map(({ type, member }) => `${type} ${member}`),
    ['added pool-3', 'removed pool-1', 'added pool-4', 'removed pool-2'],
  )
})

test('a removed member finishes its calls; beyond the time limit they are lost', async (t) => {
  const { pool, said } = await startPool(t)
  const done = pool.callTool('late', { after: 50 })
  await said.next((line) => line === 'got tools/call late')
  const [quick, slow] = pool.members().toSorted((a, b) => b.pending - a.pending)
  if (quick === undefined || slow === undefined) throw new Error('expected two members')
  const hangs = pool.callTool('hang').catch((error: Error) => error)
  await said.next((line) => line === 'got tools/call hang')
  const [first, second] = await Promise.all([
    pool.remove(quick.name),
    pool.remove(slow.name, { timeout: 100 }),
  ])
  assert.equal([first, second], [true, true])
  assert.is((await done).text, 'too late')
  const error = (await hangs) as Error & { code: string; data: unknown }
  assert.equal([error.code, error.data], ['CLOSED', { sent: true }])
  assert.equal(pool.members(), [])
  const nobody = await rejection(pool.callTool('count', {}, { timeout: 50 }))
  assert.equal([nobody.code, nobody.data], ['TIMEOUT', { sent: false }])
  assert.match(nobody.message, 'it has no members')
})

test('a member that is removed while it is being started leaves nothing behind', async (t) => {
  const { pool } = await startPool(t, { size: 1 })
  const name = pool.add()
  assert.is(await pool.remove(name), true)
  await pool.callTool('count')
  assert.equal(
    pool.members().map((member) => member.name),
    ['pool-1'],
  )
})

test('members are removed and added while the actor of the pool is down', async (t) => {
  const { pool, event } = await startPool(t, { size: 2 })
  const kill = (): void => pool.registry.whereis('pool pool')?.kill()
  kill()
  const removed = pool.remove('pool-1')
  const added = pool.add()
  assert.is(await removed, true)
  await event('ready', added)
  // and while it comes back
  kill()
  await Promise.resolve()
  const next = pool.add()
  assert.is(await pool.remove(added), true)
  await event('ready', next)
  assert.equal(
    pool.members().map(({ name, status }) => `${name} ${status}`),
    ['pool-2 ready', `${next} ready`],
  )
  await pool.callTool('count')
})

test('a member removed during its start leaves no client when the pool actor ends', async (t) => {
  const { pool, event } = await startPool(t, { size: 1 })
  const name = pool.add()
  await Promise.resolve()
  pool.registry.whereis('pool pool')?.kill()
  assert.is(await pool.remove(name), true)
  const last = pool.add()
  await event('ready', last)
  const clients = pool.inspect().tree.children.find(({ name: child }) => child === 'clients of pool pool')
  assert.is(clients?.children.length, 2)
})

test('a member that could not be started is tried again until it can', async (t) => {
  const registry = new Registry()
  const rival = startClient({ name: 'pool-2', transport: rawNear(), registry, logger: false })
  t.after(() => rival.close())
  await rival.ready()
  const { pool, event } = await startPool(t, { registry, min: 1 })
  const down = pool.members().find(({ name }) => name === 'pool-2')
  assert.equal([down?.status, down?.restarts], ['down', 0])
  await rival.close()
  await event('ready', 'pool-2')
  await pool.ready()
})

test.run()
