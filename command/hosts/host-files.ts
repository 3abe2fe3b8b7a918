import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isObject } from '../../protocol/wire/json.js'
import { show } from '../../runtime/base/errors.js'
import { didYouMean } from '../../runtime/base/near.js'
import { parseJsonc } from './jsonc.js'
import { UsageError } from '../base/usage-error.js'

/** Where hosts keep their files. */
export interface Surroundings {
  readonly platform: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  /** The folder that the program was started in. */
  readonly folder: string
}

/** A server as the file of a host has it. */
export interface FoundServer {
  readonly name: string
  readonly file: string
  /** The folder that the file speaks of as `${workspaceFolder}`. */
  readonly folder: string
  readonly entry: Readonly<Record<string, unknown>>
  /** Whether its file says that it is not to be used for now. */
  readonly isDisabled: boolean
  /** The `inputs` of the file, by id. */
  readonly inputs: ReadonlyMap<string, InputNote>
}

/** What a host asks its user for: `${input:ID}`. */
interface InputNote {
  readonly description?: string
  readonly default?: string
  readonly password?: boolean
}

/** The files of hosts, those of the project first: where two have a server of one name, the first one counts. */
function hostFiles({ platform, env, home, folder }: Surroundings): readonly string[] {
  const settings =
    platform === 'darwin'
      ? join(home, 'Library', 'Application Support')
      : platform === 'win32'
        ? (env.APPDATA ?? join(home, 'AppData', 'Roaming'))
        : (env.XDG_CONFIG_HOME ?? join(home, '.config'))
  return [
    join(folder, 'mcp.json'),
    join(folder, '.mcp.json'),
    join(folder, '.vscode', 'mcp.json'),
    join(folder, '.cursor', 'mcp.json'),
    join(folder, '.gemini', 'settings.json'),
    join(home, '.claude.json'),
    join(settings, 'Claude', 'claude_desktop_config.json'),
    join(settings, 'Code', 'User', 'mcp.json'),
    join(home, '.cursor', 'mcp.json'),
    join(home, '.codeium', 'windsurf', 'mcp_config.json'),
    join(home, '.gemini', 'settings.json'),
  ]
}

/**
 * The servers of `file`, or of all files that are found. Throws UsageError for a file that cannot be read; of
 * those that nobody named, one that is wrong is left out. `tell` hears why, and of doubts, with the name of
 * the file.
 */
export function findServers(
  surroundings: Surroundings,
  file: string | undefined,
  tell: (problem: string) => void = () => {},
): readonly FoundServer[] {
  if (file !== undefined) return serversIn(file, readFile(file), tell)
  return hostFiles(surroundings).flatMap((path) => {
    try {
      const text = textOf(path, mostOfHost)
      // settings of a host that uses no servers
      const hasServers = text.trim() !== '' && sectionOf(path, parseJsonc(text, path)) !== undefined
      return hasServers ? serversIn(path, text, tell) : []
    } catch (error) {
      if (error instanceof UsageError) tell(error.message)
      return []
    }
  })
}

/** Of a file of a host, in bytes: some keep what was said to them there, too. */
export const mostOfHost = 64 * 1024 * 1024

/** Of a file: a pipe that nobody writes to would hold the program, and a device may have no end. */
export function textOf(path: string, mostBytes = Number.POSITIVE_INFINITY): string {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    // of a folder the reader says so itself
    const facts = fstatSync(file)
    if (facts.size > mostBytes) throw new UsageError(`${path} has more than ${mostBytes} bytes`)
    if (facts.isFile() || facts.isDirectory()) return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
  throw new UsageError(`${path} is no file`)
}

function readFile(path: string): string {
  try {
    return textOf(path, mostOfHost)
  } catch (error) {
    if (error instanceof UsageError) throw error
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`${path} cannot be read (${code}): give the file of a host`)
  }
}

/**
 * The servers of the text of a host's file; `tell` hears of doubts. Throws UsageError for one that does not
 * say which servers there are: an empty one, or one without `mcpServers` and `servers`.
 */
export function serversIn(
  file: string,
  text: string,
  tell: (problem: string) => void,
): readonly FoundServer[] {
  if (text.trim() === '') throw new UsageError(`${file} is empty: expected mcpServers or servers`)
  const host = parseJsonc(text, file, tell)
  const servers = sectionOf(file, host)
  if (servers === undefined) {
    const names = Object.keys(host as object)
    const meant = names.map((name) => didYouMean(name, sections)).find((hint) => hint !== '') ?? ''
    throw new UsageError(`${file} has neither mcpServers nor servers${meant}`)
  }
  const { inputs: noted } = host as { readonly inputs?: unknown }
  const inputs = new Map(
    (Array.isArray(noted) ? noted : [])
      .filter(isObject)
      .map((input) => [String(input.id), input as InputNote]),
  )
  const isGemini = isOfGemini(file)
  const near = dirname(file)
  const folder = /[\\/]\.(?:vscode|cursor|gemini)$/.test(near) ? dirname(near) : near
  if (Object.hasOwn(servers, '')) tell(`${file}: a server has an empty name: it is left out`)
  if (sections.every((section) => Object.hasOwn(host as object, section)))
    tell(`${file} has mcpServers and servers, too: servers is left out`)
  return Object.entries(servers).flatMap(([name, given]) => {
    if (name === '') return []
    // what is no entry is nobody's wish to have the server stopped
    const entry = isObject(given) ? normalize(given, isGemini) : {}
    return [{ name, file, folder, entry, isDisabled: entry.disabled === true, inputs }]
  })
}

const sections = ['mcpServers', 'servers'] as const

/** What a file says of servers; undefined where it says nothing. Throws UsageError for what cannot be meant. */
function sectionOf(file: string, host: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isObject(host))
    throw new UsageError(`${file}: expected an object with mcpServers or servers, got ${show(host)}`)
  const name = sections.find((section) => host[section] !== undefined)
  if (name === undefined) return undefined
  const section = host[name]
  if (isObject(section)) return section
  throw new UsageError(`${file}: expected ${name} to be an object of servers by name, got ${show(section)}`)
}

function isOfGemini(file: string): boolean {
  return /[\\/]\.gemini[\\/]/.test(file)
}

/**
 * Where a file has its servers; of one that has none yet, where its host looks for them. Throws UsageError.
 */
export function sectionFor(file: string, host: unknown): string {
  const usual = /[\\/]\.vscode[\\/]|[\\/]Code[\\/]User[\\/]/.test(file) ? 'servers' : 'mcpServers'
  if (sectionOf(file, host) === undefined) return usual
  return sections.find((section) => (host as Record<string, unknown>)[section] !== undefined) ?? usual
}

/** An entry for a server at an address, as the host of the file has it. */
export function remoteEntry(file: string, url: string, type: string): Record<string, unknown> {
  if (isOfGemini(file)) return type === 'http' ? { httpUrl: url } : { url }
  if (/[\\/]\.codeium[\\/]/.test(file)) return { serverUrl: url }
  return { type, url }
}

/** The fields that all hosts mean, by one name: `serverUrl` is Windsurf's, `httpUrl` Gemini's. */
function normalize(entry: Record<string, unknown>, isGemini: boolean): FoundServer['entry'] {
  const { serverUrl, httpUrl, ...rest } = entry
  if (httpUrl !== undefined) return { ...rest, url: httpUrl, type: 'http' }
  if (serverUrl !== undefined) return { ...rest, url: serverUrl }
  // for Gemini a plain url is one of HTTP+SSE
  return isGemini && rest.url !== undefined && rest.type === undefined ? { ...rest, type: 'sse' } : rest
}
