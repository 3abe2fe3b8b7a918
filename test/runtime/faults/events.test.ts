import * as assert from 'uvu/assert'
import {
  childSpec,
  crash,
  defineActor,
  type RefOf,
  type RuntimeEvents,
  shutdown,
  shutdownWith,
  subscribe,
  supervisorAt,
  supervisorSpec,
} from 'caduceus/runtime'
import { currentOwner } from '../../../runtime/faults/containment.js'
import { emit } from '../../../runtime/faults/events.js'
import { processOf } from '../../../runtime/process/ref.js'
import { suite, type TestContext } from '../../support/suite.js'
import { ending, failure, gather, Recorder, startTree, worker, workerOf } from '../_family.js'

const test = suite('events')
const strategy = 'one_for_one'
const boom = new Error('boom')

/** All events of all names in the order they came. */
function listen(t: TestContext): { name: keyof RuntimeEvents; event: RuntimeEvents[keyof RuntimeEvents] }[] {
  const heard: ReturnType<typeof listen> = []
  for (const name of ['crash', 'supervisor', 'progress', 'stray', 'notice'] as const) {
    t.after(subscribe(name, (event) => heard.push({ name, event })))
  }
  return heard
}

test('OTP-115 a crash yields the crash, supervisor and progress reports, in order', async (t) => {
  const log = new Recorder()
  const heard = listen(t)
  const inner = supervisorSpec({ name: 'inner', strategy, children: [worker(log, 'a')] })
  const tree = await startTree(t, { name: 'outer', strategy, children: [inner] })
  const id = processOf(tree.ref).tree.id
  heard.splice(0)
  const ref = (await tree.children())[0]?.ref
  assert.ok(ref)
  const a = await workerOf(supervisorAt(ref), 'a')
  const ended = ending(a)
  a.cast('crash', boom)
  a.cast('stop')
  a.cast('stop')
  await ended
  await log.next(3)
  const next = await workerOf(supervisorAt(ref), 'a')
  const child = { id: 'a', process: a.id, restart: 'permanent' }
  const facts = { tree: id, id: a.id, name: 'a' }
  assert.equal(heard, [
    {
      name: 'crash',
      event: {
        ...facts,
        report: `${id}.${a.id}`,
        reason: crash(boom),
        during: 'crash',
        mailbox: 2,
        status: undefined,
        about: undefined,
        ancestors: ['inner', 'outer'],
      },
    },
    {
      name: 'supervisor',
      event: { tree: id, supervisor: 'inner', context: 'child_terminated', reason: crash(boom), child },
    },
    {
      name: 'progress',
      event: { tree: id, supervisor: 'inner', child: { id: 'a', process: next.id }, restarted: true },
    },
  ])
})

test('OTP-115 a supervisor reports failed starts, child ends, bad shutdowns and stops', async (t) => {
  const log = new Recorder()
  const reports = gather(t, 'supervisor')
  const health = { broken: false }
  const init = (): void => {
    if (health.broken) throw boom
  }
  const terminate = (): never => {
    throw boom
  }
  const children = [worker(log, 'a', { trapExit: true, terminate }), worker(log, 'b', { init })]
  const tree = await startTree(t, { strategy, intensity: 1, children })
  const ended = ending(tree.ref)
  health.broken = true
  const b = await workerOf(tree, 'b')
  b.kill()
  await ended
  assert.equal(
    reports.map(({ context, child }) => [context, child.id, child.process]),
    [
      ['child_terminated', 'b', b.id],
      ['start_error', 'b', undefined],
      ['shutdown', 'b', undefined],
      ['shutdown_error', 'a', 2],
    ],
  )
})

test('OTP-116 normal and shutdown exits produce no crash or supervisor reports', async (t) => {
  const log = new Recorder()
  const heard = listen(t)
  for (const reason of [undefined, shutdown, shutdownWith('moved')]) {
    const tree = await startTree(t, { strategy, children: [worker(log, 'a', { restart: 'transient' })] })
    const a = await workerOf(tree, 'a')
    const ended = ending(a)
    a.cast('stop', reason)
    await ended
    await tree.stop()
  }
  assert.ok(heard.every(({ name }) => name === 'progress'))
})

test('OTP-117 progress reports each successful start and restart', async (t) => {
  const log = new Recorder()
  const progress = gather(t, 'progress')
  const tree = await startTree(t, { name: 'top', strategy, children: [worker(log, 'a')] })
  const fails = worker(log, 'b', {
    init() {
      throw boom
    },
  })
  await failure(tree.startChild(fails))
  ;(await workerOf(tree, 'a')).kill()
  await tree.count()
  await tree.terminateChild('a')
  await tree.restartChild('a')
  assert.equal(
    progress.map(({ supervisor, child, restarted }) => [supervisor, child.id, restarted]),
    [
      ['top', 'a', false],
      ['top', 'a', true],
      ['top', 'a', false],
    ],
  )
})

test('a crash report says during what: init, a handler, terminate, or a stray error', async (t) => {
  t.expectStray(1)
  const crashes = gather(t, 'crash')
  const fragile = defineActor({
    name: 'fragile',
    trapExit: true,
    init(where: string) {
      if (where === 'init') throw boom
      return where
    },
    cast: {
      poke(where, _: undefined, ctx) {
        if (where === 'poke') throw boom
        if (where === 'stray') void Promise.reject(boom)
        else ctx.stop()
      },
    },
    terminate(where) {
      if (where === 'terminate') throw boom
    },
  })
  const tree = await startTree(t, { strategy })
  await failure(tree.startChild(childSpec(fragile, 'init')))
  for (const where of ['poke', 'terminate', 'stray']) {
    const spec = childSpec(fragile, where, { restart: 'temporary' })
    const ref = (await tree.startChild(spec)).ref as RefOf<typeof fragile>
    const ended = ending(ref)
    ref.cast('poke')
    await ended
  }
  assert.equal(
    crashes.map(({ during, reason }) => [during, reason]),
    ['init', 'poke', 'terminate', 'stray'].map((during) => [during, crash(boom)]),
  )
})

test('a resource that throws or rejects on release is a notice; others are released', async (t) => {
  const log = new Recorder()
  const notices = gather(t, 'notice')
  const tree = await startTree(t, { strategy })
  const spec = worker(log, 'a', {
    restart: 'temporary',
    init(ctx) {
      ctx.own(() => log.note('first'))
      ctx.own(() => Promise.reject(boom))
      ctx.own(() => {
        throw boom
      })
      ctx.own(() => log.note('last'))
    },
  })
  const { ref } = await tree.startChild(spec)
  assert.ok(ref)
  await tree.terminateChild('a')
  assert.equal(log.rest(), ['start a', 'end a', 'last', 'first'])
  assert.equal(
    notices.map(({ name, notice, detail }) => [name, notice, detail]),
    [
      ['a', 'cleanup_failed', boom],
      ['a', 'cleanup_failed', boom],
    ],
  )
})

test('an event payload is built only for listeners, and outside of any owner', async (t) => {
  const made: string[] = []
  const payload = (): RuntimeEvents['notice'] => {
    made.push(currentOwner()?.name ?? 'nobody')
    return { tree: 0, id: 0, name: 'x', notice: 'mailbox_full', detail: 1 }
  }
  const log = new Recorder()
  const tree = await startTree(t, { strategy, children: [worker(log, 'a')] })
  const a = await workerOf(tree, 'a')
  a.cast('run', () => emit('notice', payload))
  await a.call('id')
  assert.equal(made, [])
  const heard = gather(t, 'notice')
  a.cast('run', () => emit('notice', payload))
  await a.call('id')
  assert.equal(made, ['a subscriber'])
  assert.is(heard.length, 1)
})

test('the returned function unsubscribes', () => {
  const heard: unknown[] = []
  const event = { tree: 0, id: 0, name: 'x', notice: 'mailbox_full', detail: 1 } as const
  const undo = subscribe('notice', (notice) => heard.push(notice))
  emit('notice', () => event)
  undo()
  undo()
  emit('notice', () => event)
  assert.equal(heard, [event])
})

test.run()
