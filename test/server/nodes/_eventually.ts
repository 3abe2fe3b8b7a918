import { setTimeout as pause } from 'node:timers/promises'

/** Asks again and again: by an engine nobody hears when a time is over. */
export async function eventually(holds: () => boolean | Promise<boolean>, within = 3_000): Promise<void> {
  const deadline = performance.now() + within
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`it did not hold within ${within} ms`)
    await pause(10)
  }
}
