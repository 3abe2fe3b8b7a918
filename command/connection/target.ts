import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  type ClientTransport,
  fileAuthStorage,
  http,
  type OAuth,
  oauth,
  ServerError,
  sse,
  stdio,
  TransportError,
  websocket,
} from 'caduceus'
import type { AuthOption } from 'caduceus/transports'
import { veiled, veilOf } from '../../client/fleet/veil.js'
import { isObject } from '../../protocol/wire/json.js'
import { show } from '../../runtime/base/errors.js'
import { didYouMean } from '../../runtime/base/near.js'
import { fill } from '../hosts/fill.js'
import { dataFolder } from '../hosts/folders.js'
import { findServers, type FoundServer, type Surroundings } from '../hosts/host-files.js'
import { type Invocation, listOf, textOf } from '../base/invocation.js'
import { oneLine, tell } from '../terminal/screen.js'
import { secretly } from '../terminal/terminal.js'
import { UsageError } from '../base/usage-error.js'

/** The server that a command speaks to. */
export interface Target {
  readonly name: string
  readonly transport: ClientTransport
  /** Arguments of the command line besides the target. */
  readonly others: readonly string[]
  /** Ends what it was reached with, after the client. */
  end(): Promise<void>
}

/** Milliseconds that each step of the end of a server takes at most: somebody waits for a command. */
const stopTimeout = 1_000

export function surroundingsOf(): Surroundings {
  return { platform: process.platform, env: process.env, home: homedir(), folder: process.cwd() }
}

/** Where logins are kept. */
export function loginFolder(): string {
  return join(dataFolder(surroundingsOf()), 'logins')
}

/** Finds out which server is meant. Rejects with UsageError where there is none. */
export async function readTarget(invocation: Invocation): Promise<Target> {
  const { started, positionals } = invocation
  if (started !== undefined) {
    const entry = { command: started[0], args: started.slice(1) }
    if (entry.command === undefined) throw new UsageError('nothing behind --: give the command of a server')
    return { ...reachedBy(entry, invocation), name: entry.command, others: positionals }
  }
  const [word, ...others] = positionals
  if (word === undefined)
    throw new UsageError('a target is missing: a URL, the name of a server, or -- command arguments')
  if (/^[a-z]+:\/\//i.test(word))
    return { ...reachedBy({ url: word }, invocation), name: withoutQuery(word), others }
  const found = findNamed(word, invocation, others)
  const values = new Map<string, string>()
  const entry = await filled(found, invocation, (value, name) => values.set(value, name))
  try {
    const { transport, end } =
      entry.openapi === undefined
        ? reachedBy(checked(entry), invocation)
        : await apiOf({ ...found, entry }, invocation)
    return { transport: veiled(transport, values), end, name: word, others }
  } catch (error) {
    const isOfEntry =
      error instanceof UsageError || error instanceof TransportError || error instanceof ServerError
    throw isOfEntry ? new UsageError(veilOf(values)(`${found.file}: ${word}: ${error.message}`)) : error
  }
}

type Reached = Pick<Target, 'transport' | 'end'>

function reachedBy(entry: FoundServer['entry'], invocation: Invocation): Reached {
  const { transport, login } = connectionOf(entry, invocation, stopTimeout)
  return { transport, end: async () => login?.close() }
}

/** An API has no server that could be reached: one is started in this process. */
async function apiOf({ name, file, entry }: FoundServer, invocation: Invocation): Promise<Reached> {
  const { runApi } = await import('./openapi.js')
  const headers = headersOf(invocation)
  const whole = { ...entry, headers: { ...(entry.headers as object), ...headers } }
  const given = Object.keys(headers).length === 0 ? entry : whole
  return await runApi(name, given, dirname(file), invocation.values.verbose !== true)
}

/** What hosts write as the way to a server. */
const kinds = ['stdio', 'http', 'streamable-http', 'streamableHttp', 'sse', 'ws', 'websocket'] as const

/** The entry of a file, if it says one way to its server. Throws UsageError. */
export function checked(entry: FoundServer['entry']): FoundServer['entry'] {
  const { command, url, args, env, headers } = entry
  const field = entry.type === undefined ? 'transport' : 'type'
  const { [field]: kind } = entry
  if (typeof command !== 'string' && typeof url !== 'string') {
    const meant = Object.keys(entry).map((name) => didYouMean(name, ['command', 'url', 'openapi']))
    throw new UsageError(`expected a command or a url${meant.find((hint) => hint !== '') ?? ''}`)
  }
  if (command !== undefined && url !== undefined)
    throw new UsageError('expected a command or a url, not both')
  if (kind !== undefined && !kinds.includes(kind as (typeof kinds)[number]))
    throw new UsageError(`${field}: expected one of ${kinds.join(', ')}, got ${show(kind)}`)
  if (kind !== undefined && (kind === 'stdio') !== (command !== undefined))
    throw new UsageError(
      `${field}: ${show(kind)} does not go with ${command === undefined ? 'url' : 'command'}`,
    )
  if (args !== undefined && !Array.isArray(args))
    throw new UsageError(`args: expected an array, got ${show(args)}`)
  for (const [name, value] of Object.entries({ env, headers }))
    if (value !== undefined && !isObject(value))
      throw new UsageError(`${name}: expected an object of texts by name, got ${show(value)}`)
  return entry
}

/** An address for errors: many servers want a key in its query. */
function withoutQuery(address: string): string {
  return address.replace(/\?[^#]+/, '?...')
}

/** The entry of a server with its variables replaced. Rejects with UsageError for one without a value. */
export function filled(
  found: FoundServer,
  invocation: Invocation,
  note?: (value: string, name: string) => void,
): Promise<FoundServer['entry']> {
  return fill(found, {
    env: process.env,
    home: homedir(),
    input: (id) => inputOf(id, found, invocation),
    note,
  })
}

/** Whether it is a file with a program, such as `src/server.ts`. */
function isProgram(name: string): boolean {
  return /\.[cm]?[jt]s$/.test(name) && existsSync(name)
}

function findNamed(name: string, invocation: Invocation, others: readonly string[]): FoundServer {
  const file = textOf(invocation, 'config')
  const problems: string[] = []
  const servers = findServers(surroundingsOf(), file, (problem) => problems.push(problem))
  const all = servers.filter((server) => server.name === name)
  const found = all.find(({ isDisabled }) => !isDisabled)
  if (found !== undefined) {
    for (const problem of problems) if (problem.startsWith(found.file)) tell(problem)
    return found
  }
  if (all[0] !== undefined) throw new UsageError(`${name} is disabled in ${all[0].file}`)
  if (isProgram(name))
    throw new UsageError(
      `${name} is a file, and no server: write caduceus ${[invocation.word, ...others].join(' ')} -- npx caduceus serve ${name} --stdio`,
    )
  const names = [...new Set(servers.filter(({ isDisabled }) => !isDisabled).map((server) => server.name))]
  const known =
    names.length === 0
      ? `no file of a host has a server: give a URL, --config FILE, or -- command arguments`
      : `known are ${names.join(', ')}${didYouMean(name, names)}`
  throw new UsageError([`${name} is no server; ${known}`, ...problems].join('; '))
}

async function inputOf(id: string, { file, inputs }: FoundServer, invocation: Invocation): Promise<string> {
  const given = pairsOf(listOf(invocation, 'input'), '--input', 'ID=VALUE')
  if (Object.hasOwn(given, id)) return given[id] ?? ''
  const note = inputs.get(id)
  const typed = await secretly(`${oneLine(note?.description ?? id)}: `, note?.password === true)
  const value = typed === undefined || typed === '' ? note?.default : typed
  if (value !== undefined) return value
  throw new UsageError(`${file} needs the input ${id}: give --input ${id}=VALUE`)
}

/** How a server is reached that a file or the command line tells of. Throws BAD_OPTION. */
export function connectionOf(
  entry: Readonly<Record<string, unknown>>,
  invocation: Invocation,
  stopTimeout?: number,
  credentials?: AuthOption,
): { readonly transport: ClientTransport; readonly login: OAuth | undefined } {
  if (entry.command !== undefined) {
    const env = { ...(entry.env as object), ...pairsOf(listOf(invocation, 'env'), '--env', 'NAME=VALUE') }
    const { command, args = [], cwd } = entry as { command: string; args?: string[]; cwd?: string }
    const stderr = invocation.values.verbose === true ? tell : 'ring'
    const others = { ...(cwd !== undefined && { cwd }), ...(stopTimeout !== undefined && { stopTimeout }) }
    return { transport: stdio({ command, args, env, stderr, ...others }), login: undefined }
  }
  const url = String(entry.url)
  const headers: Record<string, string> = { ...(entry.headers as object), ...headersOf(invocation) }
  const isAuthorized = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
  const isOwn = isAuthorized || credentials !== undefined
  const login = isOwn ? undefined : oauth({ storage: fileAuthStorage(loginFolder()) })
  const auth = credentials ?? login
  const options = { headers, ...(auth !== undefined && { auth }) }
  const kind = entry.type ?? entry.transport
  if (kind === 'sse') return { transport: sse(url, options), login }
  if (/^wss?:/i.test(url)) return { transport: websocket(url, options), login }
  return { transport: http(url, options), login }
}

/** What `--header` says. Throws UsageError, which does not show what may be a secret. */
export function headersOf(invocation: Invocation): Record<string, string> {
  return Object.fromEntries(
    listOf(invocation, 'header').map((given) => {
      const at = given.indexOf(':')
      if (at < 1) throw new UsageError("--header: expected 'NAME: VALUE', got a text without a colon")
      return [given.slice(0, at).trim(), given.slice(at + 1).trim()]
    }),
  )
}

/** What such as `--env` says. Throws UsageError, which shows no value. */
export function pairsOf(given: readonly string[], option: string, form: string): Record<string, string> {
  return Object.fromEntries(
    given.map((pair) => {
      const at = pair.indexOf('=')
      if (at < 1) throw new UsageError(`${option}: expected ${form}, got ${pair.slice(0, Math.max(at, 0))}`)
      return [pair.slice(0, at), pair.slice(at + 1)]
    }),
  )
}
