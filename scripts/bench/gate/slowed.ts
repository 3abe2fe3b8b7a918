import type { Contender } from '../peers/measure.js'

const { searchParams } = new URL(import.meta.url)
const share = Number(searchParams.get('share'))
const state = { planted: 0 }

/** A contender whose process uses `share` more CPU than it needs, to show that the gate notices. */
export const { contender } = (await import(String(searchParams.get('module')))) as { contender: Contender }

work()
setInterval(work, 5).unref()

/** Spins until the planted work has its share of the other. */
function work(): void {
  for (;;) {
    const { user, system } = process.cpuUsage()
    if (state.planted >= (user + system - state.planted) * share) return
    const before = performance.now()
    while (performance.now() - before < 0.05);
    const after = process.cpuUsage()
    state.planted += after.user + after.system - user - system
  }
}
