import { defineActor } from '../../../runtime/process/behaviour.js'

/** What runs in the peers that are measured. */
const echo = defineActor({
  name: 'echo',
  init: () => ({}),
  call: {
    echo: (_state, value: { text: string; count: number; tags: string[] }) => value,
    pid: () => process.pid,
  },
  cast: {
    spin() {
      for (;;);
    },
  },
})

export { echo as default }
