// A thread in the process of a peer: ends it when its parent is gone, also while its loop is blocked.
import { workerData } from 'node:worker_threads'

const parent = workerData as number
setInterval(() => {
  if (process.ppid !== parent || !isThere(parent)) process.kill(process.pid, 'SIGKILL')
}, 1_000)

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
