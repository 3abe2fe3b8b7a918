import { serveStdio, type ServerTransport, TransportError } from 'caduceus'
import { type Invocation, textOf } from '../base/invocation.js'
import { tell } from '../terminal/screen.js'
import { UsageError } from '../base/usage-error.js'
import type { TeamFile } from './team-file.js'

/** Standard input and output. Throws UsageError where a port is asked for, too. */
export function overStandardInput(invocation: Invocation): ServerTransport {
  if (textOf(invocation, 'http') !== undefined) throw new UsageError('--http and --stdio: give one of them')
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
  await probe(host, readCount(given, '--http', 'a port', 0))
}

/** The same, of the port for metrics; tells where they are. */
export async function checkMetrics(place: TeamFile['metrics']): Promise<void> {
  if (place === undefined) return
  const { port, host = '127.0.0.1' } = place
  await probe(host, port)
  tell(`metrics are at http://${host.includes(':') ? `[${host}]` : host}:${port}/metrics`)
}

async function probe(host: string, port: number): Promise<void> {
  const { createServer } = process.getBuiltinModule('node:net')
  await new Promise<void>((resolve, reject) => {
    const probe = createServer().once('error', (cause: NodeJS.ErrnoException) => {
      const why =
        cause.code === 'EADDRINUSE'
          ? 'the port is in use: take another port, or 0 for a free one'
          : cause.message
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
