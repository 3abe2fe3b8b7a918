import { once } from 'node:events'
import { startSupervisor, taskSupervisorAt, taskSupervisorSpec } from 'caduceus/runtime'

const tree = await startSupervisor({ strategy: 'one_for_one', logger: false })
const { ref } = await tree.startChild(taskSupervisorSpec({ maxChildren: 100 }))
const tasks = taskSupervisorAt(ref)

const sum = tasks.start(() => [1, 2, 3].reduce((a, b) => a + b))
console.log('sum:', await sum.result)

const faulty = tasks.start(() => {
  setTimeout(() => JSON.parse('{'), 1) // throws outside of everybody's reach
  return new Promise(() => {})
})
console.log('faulty:', await faulty.result.catch((error: Error) => error.name))

const endless = tasks.start(({ signal }) => once(process, 'never', { signal }))
endless.cancel()
console.log('cancelled, left running:', tasks.running, (await tree.stop()).type)
