import { childSpec, defineActor, startSupervisor, subscribe } from 'caduceus/runtime'

const sensor = defineActor({ name: 'sensor', init: () => ({ readings: [] }) })
const display = defineActor({ name: 'display', init: () => ({ text: '' }) })

subscribe('progress', ({ child, restarted }) => {
  console.log(child.id, restarted ? 'restarted' : 'started')
  if (restarted && child.id === 'display') void pair.stop()
})

const pair = await startSupervisor({
  strategy: 'one_for_all', // one makes no sense without the other
  logger: false,
  children: [childSpec(sensor), childSpec(display)],
})
const [, first] = await pair.children() // newest first
first?.ref?.kill()
