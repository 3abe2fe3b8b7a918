import { fieldOf } from '../../runtime/base/errors.js'
import type { ClientTransport } from '../../transports/contract/contract.js'
import { veiled } from './veil.js'
import { TransportError } from '../../transports/base/errors.js'
import { http } from '../../transports/http/client/client.js'
import { sse } from '../../transports/http/client/sse.js'
import { stdio } from '../../transports/stdio/client.js'
import { websocket } from '../../transports/websocket/client.js'
import { optionError } from '../base/errors.js'
import { readTransport } from '../options/options.js'
import { bad, readFlag, readObject, readText } from '../base/read-options.js'

/** A server that is started as a child process. */
export interface CommandEntry {
  /** `stdio`, or nothing. */
  readonly type?: string
  readonly command: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Disabled entries are left out. */
  readonly disabled?: boolean
}

/** A server at an address. */
export interface UrlEntry {
  /**
   * `http` (`streamable-http`, `streamableHttp`), `sse`, `websocket` (`ws`). Default by the address's scheme.
   */
  readonly type?: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly disabled?: boolean
}

/** A server behind a transport of any kind. */
export interface TransportEntry {
  readonly transport: ClientTransport
}

/** One server of `mcpServers`. Fields that other programs have there are ignored. */
export type ServerEntry = CommandEntry | UrlEntry | TransportEntry

interface EntryReading {
  /** Values of `${NAME}`; undefined: no text has any. */
  readonly variables: Readonly<Record<string, string | undefined>> | undefined
  readonly onStderr: ((line: string) => void) | undefined
}

/** Undefined for a disabled entry. Throws BAD_OPTION with the field's path: `mcpServers.files.args[0]`. */
export function readEntry(value: unknown, where: string, reading: EntryReading): ClientTransport | undefined {
  const entry = readObject(value, where)
  if (readFlag(entry.disabled, `${where}.disabled`, false)) return undefined
  // some programs call the type `transport`
  if (entry.transport !== undefined && typeof entry.transport !== 'string')
    return readTransport(entry.transport, `${where}.transport`)
  const kind = kindOf(entry, where)
  const values = new Map<string, string>()
  const fields = kind === 'stdio' ? ['command', 'args', 'env', 'cwd'] : ['url', 'headers']
  const given = Object.fromEntries(
    fields
      .filter((field) => entry[field] !== undefined)
      .map((field) => [
        field,
        replace(entry[field], `${where}.${field}`, { variables: reading.variables, values }),
      ]),
  )
  try {
    return veiled(create(kind, given, reading), values)
  } catch (error) {
    throw located(error, where, reading)
  }
}

type Kind = 'stdio' | 'http' | 'sse' | 'websocket'

const kinds: ReadonlyMap<unknown, Kind> = new Map([
  ['stdio', 'stdio'],
  ['http', 'http'],
  ['streamable-http', 'http'],
  ['streamableHttp', 'http'],
  ['sse', 'sse'],
  ['ws', 'websocket'],
  ['websocket', 'websocket'],
])

const byAddress = { http, sse, websocket } as const

function kindOf(entry: Record<string, unknown>, where: string): Kind {
  const { command, url } = entry
  const field = entry.type === undefined ? 'transport' : 'type'
  const type = entry[field]
  if (type === undefined) {
    if (command !== undefined && url !== undefined) throw bad(where, 'a command or a url, not both', 'both')
    if (command !== undefined) return 'stdio'
    if (url === undefined) throw bad(where, 'a command, a url or a transport', entry)
    return /^wss?:/i.test(readText(url, `${where}.url`)) ? 'websocket' : 'http'
  }
  const kind = kinds.get(type)
  if (kind === undefined) throw bad(`${where}.${field}`, `one of ${[...kinds.keys()].join(', ')}`, type)
  return kind
}

function create(
  kind: Kind,
  { url, headers, ...given }: Record<string, unknown>,
  { onStderr }: EntryReading,
): ClientTransport {
  if (kind === 'stdio') {
    const stderr = onStderr === undefined ? {} : { stderr: onStderr }
    return stdio({ ...(given as unknown as CommandEntry), ...stderr })
  }
  return byAddress[kind](url as string, headers === undefined ? {} : { headers: headers as HeaderValues })
}

type HeaderValues = Readonly<Record<string, string>>

/** The forms that hosts have. */
const variable = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

interface Replacing extends Pick<EntryReading, 'variables'> {
  /** Takes the names of the variables that were replaced, by their values. */
  readonly values: Map<string, string>
}

/** Replaces variables in all texts; names of fields stay. */
function replace(value: unknown, where: string, how: Replacing): unknown {
  if (Array.isArray(value)) return value.map((item, index) => replace(item, `${where}[${index}]`, how))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, replace(item, `${where}.${name}`, how)]),
    )
  if (typeof value !== 'string') return value
  return value.replace(variable, (whole: string, name: string, usual: string | undefined) => {
    const { variables, values } = how
    if (variables === undefined)
      throw bad(where, 'the option variables, such as process.env, where a text has variables', whole)
    const known = Object.hasOwn(variables, name) ? variables[name] : undefined
    // as in a shell, an empty value counts as not set if there is a default
    if (known !== undefined && (known !== '' || usual === undefined)) {
      values.set(known, name)
      return known
    }
    if (usual !== undefined) return usual
    throw bad(where, `a value for the variable ${name}`, undefined)
  })
}

/** Adds the place in the entry; with variables, the value may be a secret. */
function located(error: unknown, where: string, { variables }: EntryReading): unknown {
  if (!(error instanceof TransportError) || error.code !== 'BAD_OPTION') return error
  const field = `${where}.${fieldOf(error)}`
  if (variables === undefined) return optionError(field, `${where}.${error.message}`, error)
  const [expected = ''] = error.message.split(', got ')
  return optionError(field, `${where}.${expected}, got something else`)
}
