import * as assert from 'uvu/assert'
import {
  type ActorContext,
  type ChildSpec,
  childSpec,
  defineActor,
  dynamicSupervisorAt,
  dynamicSupervisorSpec,
  normal,
  Registry,
  startActor,
  supervisorAt,
  supervisorSpec,
  taskSupervisorAt,
  taskSupervisorSpec,
} from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import { ending, gate, Recorder, startTree, turn, worker, type WorkerOptions, workerOf } from '../_family.js'

const test = suite('a successor starts when all that its predecessor owned is released')

const strategy = 'one_for_one'

/** What can be had once at a time. */
class Port {
  readonly log = new Recorder()
  readonly #free = gate()

  /** Its first holder keeps it until it is set free. */
  readonly take = (ctx: ActorContext | Pick<ActorContext, 'own'>): void => {
    this.log.note('taken')
    ctx.own(() => this.#free.opened.then(() => this.log.note('free')))
  }

  /** It has been taken once; nobody takes it again before it is free. */
  async isPassedOn(): Promise<void> {
    for (let turns = 0; turns < 5; turns++) await turn()
    assert.equal(this.log.rest(), ['taken'])
    this.#free.open()
    assert.equal(await this.log.next(2), ['free', 'taken'])
  }

  holder(id: string, options: WorkerOptions = {}): ChildSpec {
    return worker(new Recorder(), id, { init: this.take, ...options })
  }
}

/** A spec that takes the port when it starts, and leaves the release to what runs below it. */
function noted(spec: ChildSpec, { log }: Port): ChildSpec {
  return {
    ...spec,
    start(ctx) {
      log.note('taken')
      return spec.start(ctx)
    },
  }
}

for (const restart of ['temporary', 'transient', 'permanent'] as const)
  test(`a ${restart} child was dead, and its supervisor is killed`, async (t) => {
    const port = new Port()
    const spec = supervisorSpec({ strategy, children: [port.holder('a', { restart })] }, { id: 'inner' })
    const tree = await startTree(t, { strategy, children: [spec] })
    const inner = (await tree.children())[0]?.ref
    ;(await workerOf(supervisorAt(inner), 'a')).kill()
    inner?.kill()
    await port.isPassedOn()
  })

test('a child was dead, and two levels of supervisors are killed, one after the other', async (t) => {
  const port = new Port()
  const children = [port.holder('a', { restart: 'temporary' })]
  const inner = supervisorSpec({ strategy, children }, { id: 'inner', restart: 'temporary' })
  const outer = supervisorSpec({ strategy, children: [inner] }, { id: 'outer' })
  const tree = await startTree(t, { strategy, children: [outer] })
  const [outerRef] = (await tree.children()).map(({ ref }) => ref)
  const [innerRef] = (await supervisorAt(outerRef).children()).map(({ ref }) => ref)
  ;(await workerOf(supervisorAt(innerRef), 'a')).kill()
  innerRef?.kill()
  outerRef?.kill()
  await port.isPassedOn()
})

test('a child of a dynamic supervisor was dead, and that is killed', async (t) => {
  const port = new Port()
  const tree = await startTree(t, { strategy, children: [noted(dynamicSupervisorSpec(), port)] })
  const ref = (await tree.children())[0]?.ref
  const init = (ctx: ActorContext): void => {
    port.log.rest()
    port.take(ctx)
  }
  const child = await dynamicSupervisorAt(ref).startChild(port.holder('a', { restart: 'temporary', init }))
  child.ref?.kill()
  ref?.kill()
  await port.isPassedOn()
})

test('a task was over, and its supervisor is killed', async (t) => {
  const port = new Port()
  const tree = await startTree(t, { strategy, children: [noted(taskSupervisorSpec(), port)] })
  const ref = (await tree.children())[0]?.ref
  port.log.rest()
  await taskSupervisorAt(ref).start((ctx) => port.take(ctx)).result
  ref?.kill()
  await port.isPassedOn()
})

test('what an actor had started was dead, and the actor is killed', async (t) => {
  const port = new Port()
  const below = defineActor({ name: 'below', init: (_: undefined, ctx) => port.take(ctx) })
  const above = defineActor({
    name: 'above',
    trapExit: true,
    init: async (_: undefined, ctx) => ctx.start(below),
    info: { exit() {} },
    call: { below: (ref) => ref },
  })
  const tree = await startTree(t, { strategy, children: [childSpec(above)] })
  const ref = (await tree.children())[0]?.ref as Awaited<ReturnType<typeof startActor>> | undefined
  const child = (await ref?.call('below' as never)) as typeof ref
  child?.kill()
  ref?.kill()
  await port.isPassedOn()
})

test('a child ended, and is started again by hand', async (t) => {
  const port = new Port()
  const tree = await startTree(t, { strategy, children: [port.holder('a', { restart: 'transient' })] })
  const ref = await workerOf(tree, 'a')
  const ended = ending(ref)
  ref.cast('stop', normal)
  await ended
  const restarted = tree.restartChild('a')
  await port.isPassedOn()
  await restarted
})

for (const restart of ['temporary', 'transient'] as const)
  test(`a ${restart} child ended, its spec is gone, and one of the same id is started`, async (t) => {
    const port = new Port()
    const spec = port.holder('a', { restart })
    const tree = await startTree(t, { strategy, children: [spec] })
    const ref = await workerOf(tree, 'a')
    const ended = ending(ref)
    ref.cast('stop', normal)
    await ended
    if (restart === 'transient') await tree.deleteChild('a')
    const started = tree.startChild(spec)
    await port.isPassedOn()
    await started
  })

test('a child is terminated by hand, deleted, and one of the same id is started', async (t) => {
  const port = new Port()
  const spec = port.holder('a')
  const tree = await startTree(t, { strategy, children: [spec] })
  const asked = [tree.terminateChild('a'), tree.deleteChild('a'), tree.startChild(spec)]
  await port.isPassedOn()
  await Promise.all(asked)
})

for (const strategy of ['one_for_all', 'rest_for_one'] as const)
  test(`a sibling had ended, and is started again with its group (${strategy})`, async (t) => {
    const port = new Port()
    const children = [worker(new Recorder(), 'a'), port.holder('b', { restart: 'transient' })]
    const tree = await startTree(t, { strategy, children })
    const ref = await workerOf(tree, 'b')
    const ended = ending(ref)
    ref.cast('stop', normal)
    await ended
    ;(await workerOf(tree, 'a')).kill()
    await port.isPassedOn()
  })

test('a start fails after it took something', async (t) => {
  const port = new Port()
  const starts = { count: 0 }
  const init = (ctx: ActorContext): void => {
    starts.count += 1
    if (starts.count > 1) port.take(ctx)
    if (starts.count === 2) throw new Error('taken, and no use for it')
  }
  const tree = await startTree(t, { strategy, children: [port.holder('a', { init })] })
  ;(await workerOf(tree, 'a')).kill()
  await port.isPassedOn()
})

test('a supervisor gives up, and the one above starts it again', async (t) => {
  const port = new Port()
  const spec = supervisorSpec({ strategy, intensity: 0, children: [port.holder('a')] }, { id: 'inner' })
  const tree = await startTree(t, { strategy, children: [spec] })
  const inner = supervisorAt((await tree.children())[0]?.ref)
  ;(await workerOf(inner, 'a')).cast('crash')
  await port.isPassedOn()
})

test('a process is killed, and another one is started under its name', async (t) => {
  const port = new Port()
  const registry = new Registry()
  const behaviour = defineActor({ name: 'a', init: (_: undefined, ctx) => port.take(ctx) })
  const options = { registry, name: 'port', logger: false } as const
  ;(await startActor(behaviour, undefined, options)).kill()
  const second = startActor(behaviour, undefined, options)
  t.after(async () => (await second).kill())
  await port.isPassedOn()
  await second
})

test('whoever waits for a name may end before its turn', async (t: TestContext) => {
  const port = new Port()
  const registry = new Registry()
  const behaviour = defineActor({ name: 'a', init: (_: undefined, ctx) => port.take(ctx) })
  const options = { registry, name: 'port', logger: false } as const
  ;(await startActor(behaviour, undefined, options)).kill()
  const second = startActor(behaviour, undefined, options)
  registry.whereis('port')?.kill()
  const error = await second.catch((error: { code: string }) => error)
  assert.is((error as { code: string }).code, 'START_FAILED')
  const third = startActor(behaviour, undefined, options)
  t.after(async () => (await third).kill())
  await port.isPassedOn()
})

test.run()
