import {
  asyncStream,
  awaitTask,
  defineActor,
  outcomeOf,
  shutdownTask,
  startActor,
  startTaskSupervisor,
  type TaskSupervisor,
  yieldTask,
} from 'caduceus/runtime'

const reporter = defineActor({
  name: 'reporter',
  // the tasks belong to this actor, and end with it
  init: async (_input: undefined, ctx) => ({ tasks: await startTaskSupervisor(ctx, { maxChildren: 10 }) }),
  call: {
    report: ({ tasks }) => report(tasks),
  },
})

async function report(tasks: TaskSupervisor) {
  const lines: string[] = []
  const sum = tasks.start(() => 1 + 1)
  lines.push(`awaited: ${await awaitTask(sum, 1_000)}`) // rejects, and cancels the task, when time is up

  const slow = tasks.start(
    ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
  )
  lines.push(`not yet: ${await yieldTask(slow, 1)}`) // looks, and lets it go on
  await shutdownTask(slow, 'brutal_kill')

  const faulty = tasks.start(() => JSON.parse('{'))
  lines.push(`failed: ${(await outcomeOf(faulty)).type}`)

  // at most two at a time, in the order of the items
  for await (const outcome of asyncStream(tasks, [1, 2, 3], (item) => item * item, { maxConcurrency: 2 }))
    if (outcome.type === 'ok') lines.push(String(outcome.value))
  return lines
}

const ref = await startActor(reporter, undefined, { logger: false })
for (const line of await ref.call('report')) console.log(line)
await ref.stop()
