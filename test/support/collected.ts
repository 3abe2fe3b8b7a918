import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Looks for what is to be collected: some of it is let go only by what a first collection finds. */
const looks = 40

/** The names of those that are still there after garbage was collected. */
export async function stillThere(things: Readonly<Record<string, WeakRef<object>>>): Promise<string[]> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let look = 0; look < looks; look++) {
    collect()
    if (namesOf(things).length === 0) break
    // A weak reference is read until the end of a turn.
    await turn()
  }
  return namesOf(things)
}

/** Bytes of heap in use once garbage was collected. */
export async function heapInUse(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  await turn()
  collect()
  return process.memoryUsage().heapUsed
}

function namesOf(things: Readonly<Record<string, WeakRef<object>>>): string[] {
  return Object.entries(things).flatMap(([name, thing]) => (thing.deref() === undefined ? [] : [name]))
}
