import { readFileSync } from 'node:fs'

/** Whether there is such a process, be it one that is dead and not yet waited for. */
export function isAlive(pid: number): boolean {
  // 0 is every process of the caller's group: who takes it for one and kills it ends the run of tests
  if (!(pid > 0)) throw new RangeError(`expected the id of a process, got ${pid}`)
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Waits for the end of a process that is not our child. */
export async function gone(pid: number): Promise<void> {
  while (isRunning(pid)) await new Promise((resolve) => setImmediate(resolve))
}

/** Nobody may have waited for a dead grandchild: as a zombie it still has its pid. */
function isRunning(pid: number): boolean {
  if (!isAlive(pid)) return false
  return !/^State:\s+Z/m.test(readStatus(pid))
}

function readStatus(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}
