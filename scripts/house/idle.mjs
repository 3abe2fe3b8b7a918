// Tells when processors have nothing to do, so that work which waits lets other work begin.
import { cpus } from 'node:os'
import { clearTimeout, setTimeout } from 'node:timers'

/**
 * Processors that have to be idle before something is begun on them: less is left over by what is soon busy
 * again.
 */
const wanted = 0.5

/**
 * Looks every `ms` at what the processors did meanwhile. `next()` resolves with true when half a processor
 * had nothing to do, once
 * for each look: what begins is seen by the next one. After `stop()` it resolves with false.
 */
export function watchIdle(ms = 1_000, read = cpus) {
  const waiting = []
  let stopped = false
  let last = sum(read())
  const look = () => {
    const now = sum(read())
    const passed = now.all - last.all
    const idle = passed === 0 ? 0 : ((now.idle - last.idle) / passed) * now.count
    last = now
    if (idle >= wanted) waiting.shift()?.(true)
    timer = setTimeout(look, ms)
  }
  let timer = setTimeout(look, ms)
  return {
    next: () => (stopped ? Promise.resolve(false) : new Promise((resolve) => waiting.push(resolve))),
    stop: () => {
      stopped = true
      clearTimeout(timer)
      for (const resolve of waiting.splice(0)) resolve(false)
    },
  }
}

function sum(processors) {
  const times = processors.map((one) => one.times)
  const all = times.flatMap((time) => Object.values(time)).reduce((total, ms) => total + ms, 0)
  return { all, idle: times.reduce((total, { idle }) => total + idle, 0), count: processors.length }
}
