import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isObject } from '../protocol/wire/json.js'
import { parseJsonc } from './jsonc.js'
import { UsageError } from './usage-error.js'

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
  /** The `inputs` of the file, by id. */
  readonly inputs: ReadonlyMap<string, InputNote>
}

/** What a host asks its user for: `${input:ID}`. */
export interface InputNote {
  readonly description?: string
  readonly default?: string
  readonly password?: boolean
}

/** The files of hosts, those of the project first: where two have a server of one name, the first one counts. */
export function hostFiles({ platform, env, home, folder }: Surroundings): readonly string[] {
  const settings =
    platform === 'darwin'
      ? join(home, 'Library', 'Application Support')
      : platform === 'win32'
        ? (env.APPDATA ?? join(home, 'AppData', 'Roaming'))
        : (env.XDG_CONFIG_HOME ?? join(home, '.config'))
  return [
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
 * those that nobody named, one that is wrong is left out, and `tell` hears why.
 */
export function findServers(
  surroundings: Surroundings,
  file: string | undefined,
  tell: (problem: string) => void = () => {},
): readonly FoundServer[] {
  if (file !== undefined) return serversIn(file, readFile(file))
  return hostFiles(surroundings).flatMap((path) => {
    try {
      return serversIn(path, readFileSync(path, 'utf8'))
    } catch (error) {
      if (error instanceof UsageError) tell(error.message)
      return []
    }
  })
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`${path} cannot be read (${code}): give the file of a host`)
  }
}

/** The servers of the text of a host's file. Throws UsageError. */
export function serversIn(file: string, text: string): readonly FoundServer[] {
  const host = parseJsonc(text, file)
  const servers = [host.mcpServers, host.servers].find(isObject) ?? {}
  const inputs = new Map(
    (Array.isArray(host.inputs) ? host.inputs : [])
      .filter(isObject)
      .map((input) => [String(input.id), input as InputNote]),
  )
  const isGemini = /[\\/]\.gemini[\\/]/.test(file)
  const near = dirname(file)
  const folder = /[\\/]\.(?:vscode|cursor|gemini)$/.test(near) ? dirname(near) : near
  return Object.entries(servers).flatMap(([name, entry]) =>
    isObject(entry) && entry.disabled !== true
      ? [{ name, file, folder, entry: normalize(entry, isGemini), inputs }]
      : [],
  )
}

/** The fields that all hosts mean, by one name: `serverUrl` is Windsurf's, `httpUrl` Gemini's. */
function normalize(entry: Record<string, unknown>, isGemini: boolean): FoundServer['entry'] {
  const { serverUrl, httpUrl, ...rest } = entry
  if (httpUrl !== undefined) return { ...rest, url: httpUrl, type: 'http' }
  if (serverUrl !== undefined) return { ...rest, url: serverUrl }
  // for Gemini a plain url is one of HTTP+SSE
  return isGemini && rest.url !== undefined && rest.type === undefined ? { ...rest, type: 'sse' } : rest
}
