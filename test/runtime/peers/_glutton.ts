import { pbkdf2Sync } from 'node:crypto'
import { defineActor } from 'caduceus/runtime'

/** Takes memory, dies and blocks, in tests of peers. */
const glutton = defineActor({
  name: 'glutton',
  init: () => ({}),
  call: {
    pid: () => process.pid,
    /** Buffers that are touched, and a loop that does not turn. */
    devour(_state, gibibytes: number) {
      const kept = Array.from({ length: gibibytes * 16 }, () => Buffer.alloc(2 ** 26, 1))
      while (kept.length > 0);
    },
    spin() {
      for (;;);
    },
    abort: () => process.abort(),
    segfault: () => process.kill(process.pid, 'SIGSEGV'),
    stop: () => process.kill(process.pid, 'SIGSTOP'),
    native: () => void pbkdf2Sync('a', 'b', 2 ** 31 - 1, 64, 'sha512'),
    heap() {
      const kept: unknown[] = []
      for (;;) kept.push({ kept })
    },
  },
})

export { glutton as default }
