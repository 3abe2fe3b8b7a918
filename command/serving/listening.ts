import { serveHttp, serveStdio, type ServerTransport, TransportError } from 'caduceus'
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

/**
 * Rejects with LISTEN_FAILED where a port of this machine is taken already: told in one line, before there is
 * a server whose crash is logged. Somebody who takes it meanwhile is told by the server.
 */
export async function checkPort(
  invocation: Invocation,
  usual: { readonly host?: string; readonly port?: number } = {},
): Promise<void> {
  const { host = '127.0.0.1' } = usual
  const given = textOf(invocation, 'http') ?? String(usual.port ?? 3000)
  if (invocation.values.stdio === true || given === '0') return
  const port = readCount(given, '--http', 'a port', 0)
  const { createServer } = process.getBuiltinModule('node:net')
  await new Promise<void>((resolve, reject) => {
    const probe = createServer().once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'the port is in use' : cause.message
      const data = { host, port, code: cause.code }
      reject(
        new TransportError('LISTEN_FAILED', `cannot listen on ${host} port ${port}: ${why}`, { cause, data }),
      )
    })
    probe.listen({ port, host }, () => probe.close(() => resolve()))
  })
}

/** A whole number. Throws UsageError. */
export function readCount(given: string, option: string, what: string, least: number): number {
  const count = Number(given)
  if (given.trim() !== '' && Number.isSafeInteger(count) && count >= least && count <= 65_535) return count
  throw new UsageError(`${option}: expected ${what}, got ${given}`)
}
