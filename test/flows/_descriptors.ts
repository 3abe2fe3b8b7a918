import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'

/** Every file descriptor there is left; run with a low `ulimit -n`. */
export class Descriptors {
  readonly #taken: number[] = []

  takeAll(): void {
    try {
      for (;;) this.#taken.push(openSync(devNull, 'r'))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EMFILE') throw error
    }
  }

  giveBack(): void {
    for (const descriptor of this.#taken.splice(0)) closeSync(descriptor)
  }
}

/** The shell's words for a program of Node with few descriptors, but enough for Node to load it. */
export function fewDescriptors(program: string, ...args: readonly string[]): [string, string[]] {
  const words = [process.execPath, program, ...args].map((word) => `'${word}'`)
  return ['/bin/sh', ['-c', `ulimit -n 512; exec ${words.join(' ')}`]]
}
