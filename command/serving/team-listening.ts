import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { files, redis, serveHttp, type ServerOptions, type ServerTransport } from 'caduceus'
import type { Authenticate } from 'caduceus/transports'
import type { LogOptions } from '../../runtime/faults/log.js'
import { messageOf } from '../../runtime/base/errors.js'
import { UsageError } from '../base/usage-error.js'
import { digestOf, type TeamFile, type TokenOwner } from './team-file.js'

/** What a listener of the team has that the file may change while it listens. */
export interface TeamListener {
  readonly transport: ServerTransport
  /** Reads the certificate again. Throws UsageError; the one of before stays. */
  renew(): void
}

/**
 * The listener that the file asks for. `tokens` are those that count now; none: nobody is asked for one.
 * Rejects with UsageError for files that cannot be read, and throws BAD_OPTION as `serveHttp` does.
 */
export function listenAs(
  file: string,
  { listen, metrics, signIn }: TeamFile,
  port: number,
  tokens: (() => TeamFile['tokens']) | undefined,
): TeamListener {
  const { tls, ...options } = listen
  const read = (): { cert: Buffer; key: Buffer } | undefined =>
    tls && { cert: contentOf(file, tls.cert), key: contentOf(file, tls.key) }
  const secure = read()
  const server = secure && securely(file, secure)
  // a token may go from the file while its streams are open
  const authenticate = tokens && Object.assign(asOwner(tokens), { again: true })
  const own = {
    ...(signIn === undefined ? authenticate && { authenticate } : { auth: signIn.server }),
    ...(server !== undefined && { server }),
    ...(metrics !== undefined && { metrics }),
  }
  return {
    transport: serveHttp({ ...options, port, ...own }),
    renew() {
      const renewed = read()
      if (renewed !== undefined) contained(file, () => server?.setSecureContext(renewed))
    },
  }
}

function asOwner(tokens: () => TeamFile['tokens']): Authenticate {
  return ({ headers }) => ownerOf([headers.authorization].flat()[0], tokens())
}

/** Whose token a request has; without tokens everybody is anonymous. */
function ownerOf(header: string | undefined, tokens: ReadonlyMap<string, TokenOwner> | undefined) {
  if (tokens === undefined) return 'anonymous'
  const [, token] = /^Bearer +([\x21-\x7e]+)$/i.exec(header ?? '') ?? []
  const owner = token === undefined ? undefined : tokens.get(digestOf(token))
  return owner && { issuer: 'urn:caduceus:tokens', subject: owner.name, scopes: owner.scopes }
}

/** Whose limits are those of a listener of ours. */
function securely(file: string, secure: { cert: Buffer; key: Buffer }) {
  const { createServer } = process.getBuiltinModule('node:https')
  return contained(file, () =>
    Object.assign(createServer(secure), { headersTimeout: 10_000, keepAliveTimeout: 120_000 }),
  )
}

function contained<Result>(file: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw new UsageError(`${file}: caduceus.listen.tls cannot be used: ${messageOf(error)}`)
  }
}

function contentOf(file: string, path: string): Buffer {
  try {
    return readFileSync(resolve(dirname(file), path))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`${file}: caduceus.listen.tls: ${path} cannot be read (${code})`)
  }
}

/** The options of the server besides its transport. */
export function serverOptionsOf(
  file: string,
  { engine, rate, log }: TeamFile,
): Omit<ServerOptions, 'transport'> & LogOptions {
  return {
    ...logOptionsOf(log),
    ...(engine !== undefined && {
      engine:
        'files' in engine
          ? files({ folder: resolve(dirname(file), engine.files) })
          : redis({ url: engine.redis, keys: engine.keys }),
    }),
    ...(rate !== undefined && { limits: { rate } }),
  }
}

/** Categories that are written unasked, and those that somebody who looks for a fault wants besides. */
const usual = [
  ...['crash', 'supervisor', 'stray', 'notice', 'blocked', 'progress', 'client.warning', 'client.log'],
  ...['server.node', 'server.gateway', 'server.notice', 'transport.notice'],
]
const detailed = [
  ...['server.session', 'server.request', 'transport.listener', 'transport.connection'],
  ...['client.state', 'client.request'],
]

/** Errors and refusals of requests are told from `info` on. */
function logOptionsOf({ level, format }: NonNullable<TeamFile['log']> = {}): LogOptions {
  if (level === 'silent') return { logger: false }
  const logger = format === undefined ? {} : { logger: format }
  if (level === undefined) return logger
  if (level === 'info') return { ...logger, logLevels: { 'server.request': level } }
  const categories = level === 'debug' ? [...usual, ...detailed] : usual
  return { ...logger, logLevels: Object.fromEntries(categories.map((category) => [category, level])) }
}

/** What of the file has changed that is not looked at again while it is served, by name. */
export function changedParts(before: TeamFile, now: TeamFile): readonly string[] {
  const partsOf = ({
    gateway,
    listen,
    engine,
    rate,
    observe,
    metrics,
    log,
    signIn,
    audit,
  }: TeamFile): Record<string, unknown> => ({
    ...gateway,
    ...{ listen, engine, rate, observe, metrics, log, audit, signIn: signIn?.text },
  })
  const [old, next] = [partsOf(before), partsOf(now)]
  const names = new Set([...Object.keys(old), ...Object.keys(next)])
  return [...names].filter((name) => JSON.stringify(old[name]) !== JSON.stringify(next[name]))
}
