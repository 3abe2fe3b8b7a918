import { serveHttp, serveStdio, type ServerTransport } from 'caduceus'
import type { Invocation } from '../base/invocation.js'
import { UsageError } from '../base/usage-error.js'
import { type Overrides, readSettings } from './settings.js'
import { readTeamFile, type TeamFile } from './team-file.js'
import { listenAs, serverOptionsOf } from './team-listening.js'

/** What options and variables say of a module, which has no section `caduceus`. */
export interface ModuleServing {
  readonly team: TeamFile
  /** The options of the server besides its transport. */
  readonly options: ReturnType<typeof serverOptionsOf>
  readonly overrides: Overrides
}

/** Reads options and variables for a module. Rejects with UsageError. */
export async function readModuleServing(path: string, invocation: Invocation): Promise<ModuleServing> {
  const overrides = readSettings(invocation, process.env)
  const idle = overrides.get('idle')
  if (idle !== undefined) throw new UsageError(`${idle.from}: is for the servers of a file; a module stays`)
  const team = await readTeamFile(path, '{}', [], async ({ entry }) => entry, overrides)
  return { team, options: serverOptionsOf(path, team), overrides }
}

/**
 * Where a module listens. One that exports a transport keeps it: it may check who comes in. Throws UsageError
 * where that contradicts the options.
 */
export function transportOfModule(
  path: string,
  own: ServerTransport | undefined,
  { team, overrides }: ModuleServing,
  { values }: Invocation,
): ServerTransport {
  const [asked] = [...overrides].filter(([field]) => /^(?:listen|metrics)\.|^tokens$/.test(field))
  const from = values.stdio === true ? '--stdio' : asked?.[1].from
  if (own !== undefined && from !== undefined)
    throw new UsageError(`${path} exports a transport in its options: leave ${from} out`)
  if (own !== undefined) return own
  if (values.stdio === true) {
    if (asked !== undefined) throw new UsageError(`${asked[1].from} and --stdio: give one of them`)
    return serveStdio()
  }
  return listenAs(path, team, team.listen.port ?? 3000, team.tokens && (() => team.tokens)).transport
}

/** The listener of several processes, which share what can be copied only. Throws UsageError. */
export function sharedTransport({ team, overrides }: ModuleServing): ServerTransport {
  for (const field of ['tokens', 'listen.tls.cert', 'listen.tls.key', 'metrics.port'])
    if (overrides.has(field))
      throw new UsageError(
        `${overrides.get(field)?.from}: several processes do not share it: give it to a proxy, or leave processes out`,
      )
  const { tls: _none, port = 3000, ...listen } = team.listen
  return serveHttp({ ...listen, port })
}
