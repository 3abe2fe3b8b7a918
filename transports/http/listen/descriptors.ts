import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { throttle } from '../../../runtime/base/throttle.js'
import type { Clock } from '../../../runtime/time/clock.js'

/** Descriptors that are left when it is told. */
const spare = 16
/** Milliseconds until it is told again. */
const pause = 60_000

/**
 * Looks at each new connection, and warns as `CADUCEUS_DESCRIPTORS`, once a minute at most, when the process
 * has hardly a descriptor left: beyond them the system closes connections, and Node hears nothing of it. The
 * system gives the lowest number that is free. Only on Linux, where the limit can be read.
 */
export function watchDescriptors({ now }: Pick<Clock, 'now'>): (socket: Socket) => void {
  const limit = readLimit()
  const mayTell = throttle(now, 1, pause)
  return (socket) => {
    const { fd = -1 } = (socket as { _handle?: { readonly fd?: number } | null })._handle ?? {}
    if (fd < limit - spare || mayTell() === undefined) return
    const advice = 'raise it (ulimit -n, LimitNOFILE), or lower limits.connections'
    process.emitWarning(
      `this process may open ${limit} files and connections, and has nearly all: ${advice}`,
      {
        code: 'CADUCEUS_DESCRIPTORS',
      },
    )
  }
}

function readLimit(): number {
  if (process.platform !== 'linux') return Number.POSITIVE_INFINITY
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
    return Number(soft ?? Number.POSITIVE_INFINITY)
  } catch {
    return Number.POSITIVE_INFINITY // no /proc is mounted here
  }
}
