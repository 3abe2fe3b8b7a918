import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString, writeHeapSnapshot } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** What a program of this bench tells of its memory, in bytes. */
export interface Memory {
  readonly heap: number
  readonly resident: number
}

export const memoryAnswers = {
  async memory(): Promise<Memory> {
    for (let i = 0; i < 4; i++) {
      collect()
      await pause(10)
    }
    // what is outside of the heap, such as buffers, belongs to a session as well
    const { heapUsed, external, rss } = process.memoryUsage()
    return { heap: heapUsed + external, resident: rss }
  },
  snapshot: ({ file }: { file: string }) => writeHeapSnapshot(file),
}
