import { defineActor } from 'caduceus/runtime'

/** Prints, in tests of peers. */
const printer = defineActor({
  name: 'printer',
  init: () => ({}),
  cast: {
    print(_state, { lines, then }: { lines: number; then: 'exit' | 'spin' | 'nothing' }) {
      for (let i = 0; i < lines; i++) console.log(`line ${i}`)
      console.error('to stderr')
      process.stdout.write('last\n')
      if (then === 'exit') process.exit()
      while (then === 'spin');
    },
  },
})

export { printer as default }
