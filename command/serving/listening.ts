import { serveHttp, serveStdio, type ServerTransport } from 'caduceus'
import { type Invocation, textOf } from '../base/invocation.js'
import { UsageError } from '../base/usage-error.js'

/** Where a server listens: what the options say, or port 3000 of this machine. Throws UsageError. */
export function readListening(invocation: Invocation): ServerTransport {
  const port = textOf(invocation, 'http')
  if (invocation.values.stdio !== true)
    return serveHttp({ port: readCount(port ?? '3000', '--http', 'a port', 0) })
  if (port !== undefined) throw new UsageError('--http and --stdio: give one of them')
  return serveStdio()
}

/** A whole number. Throws UsageError. */
export function readCount(given: string, option: string, what: string, least: number): number {
  const count = Number(given)
  if (given.trim() !== '' && Number.isSafeInteger(count) && count >= least && count <= 65_535) return count
  throw new UsageError(`${option}: expected ${what}, got ${given}`)
}
