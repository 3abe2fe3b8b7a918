import { defineActor } from 'caduceus/runtime'

/** Runs in a thread of its own. */
const primes = defineActor({
  name: 'primes',
  init: () => ({}),
  call: {
    nth(_state, n: number) {
      let found = 0
      for (let candidate = 2; ; candidate++) {
        let divisor = 2
        while (divisor * divisor <= candidate && candidate % divisor !== 0) divisor++
        if (divisor * divisor > candidate && ++found === n) return candidate
      }
    },
    spin() {
      for (;;);
    },
  },
})
export { primes as default }
