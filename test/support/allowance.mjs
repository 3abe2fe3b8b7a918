// Time limits that a busy machine does not use up.
import { readFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { performance } from 'node:perf_hooks'
import { clearTimeout, setTimeout } from 'node:timers'

const sampleMs = 20

/**
 * A limit of `ms` that begins now, and is longer while the machine has other work: what hangs is still ended. `left()` tells how many
 * ms remain, 0 when it is over.
 */
export function startAllowance(ms) {
  // who expects tests to hang sets it lower
  const mostPatience = Number(process.env.CADUCEUS_TEST_PATIENCE ?? 8)
  const start = performance.now()
  const left = (allowed) => Math.max(0, start + allowed - performance.now())
  return { left: () => left(ms) || left(ms * Math.min(mostPatience, 2 * slowness() - 1)) }
}

/** Does `work` once an allowance of `ms` is over; the function that is answered calls it off. */
export function whenOver(ms, work) {
  const allowance = startAllowance(ms)
  const look = () => {
    const left = allowance.left()
    if (left === 0) work()
    else timer = setTimeout(look, Math.min(left, ms))
  }
  let timer = setTimeout(look, ms)
  return () => clearTimeout(timer)
}

/** How many times longer than on an idle machine work takes just now, at least 1: by a sample of work, and by what waits for a processor. */
export function slowness() {
  const start = performance.now()
  const before = cpuTime()
  while (cpuTime() - before < sampleMs);
  const sampled = (performance.now() - start) / sampleMs
  return Math.max(1, sampled, loadavg()[0] / availableParallelism())
}

/** The processor time that this process has used, in ms: what others do meanwhile does not count. */
export function cpuTime() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** The processor time of this process and of the children that it has waited for, in ms; without /proc of this process alone. */
export function totalCpu() {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    const [user, system, childUser, childSystem] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15)
    return 10 * (Number(user) + Number(system) + Number(childUser) + Number(childSystem))
  } catch {
    return cpuTime()
  }
}
