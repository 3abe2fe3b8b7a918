import {
  childSpec,
  defineActor,
  dynamicSupervisorAt,
  DynamicSupervisor,
  dynamicSupervisorSpec,
  isNormal,
  killed,
  noproc,
  normal,
  shutdown,
  shutdownWith,
  startDynamicSupervisor,
  startSupervisor,
  Supervisor,
  supervisorAt,
  supervisorSpec,
} from 'caduceus/runtime'

const worker = defineActor({
  name: 'worker',
  init: (job: string) => ({ job }),
  call: { job: ({ job }) => job },
})

const tree: Supervisor = await startSupervisor({
  name: 'app',
  strategy: 'rest_for_one', // a crash restarts the child, and those after it
  intensity: 3, // restarts within `periodMs` until the supervisor gives up
  periodMs: 5_000,
  logger: false,
  children: [
    childSpec(worker, 'at once', { id: 'first', restart: 'permanent' }),
    supervisorSpec({ strategy: 'one_for_one', children: [] }, { id: 'inner' }),
    dynamicSupervisorSpec({ maxChildren: 100 }, { id: 'jobs' }),
  ],
})
const refs = new Map((await tree.children()).map(({ id, ref }) => [id, ref]))
const inner = supervisorAt(refs.get('inner'))
await inner.startChild(childSpec(worker, 'added later', { id: 'late', restart: 'temporary' }))
console.log((await inner.children()).map(({ id }) => id).join(), inner instanceof Supervisor)

// children that come and go, by hundreds, without ids
const jobs = dynamicSupervisorAt(refs.get('jobs'))
for (const job of ['a', 'b', 'c']) await jobs.startChild(childSpec(worker, job, { restart: 'transient' }))
console.log(await tree.count())
await tree.stop()

const alone = await startDynamicSupervisor({ logger: false })
console.log(alone instanceof DynamicSupervisor, (await alone.stop()).type)

// why a process ended; a transient child comes back only after what is not normal
const reasons = [normal, shutdown, shutdownWith('for a deploy'), killed, noproc]
console.log(reasons.map((reason) => `${reason.type} ${isNormal(reason)}`).join(', '))
