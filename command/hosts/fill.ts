import { resolve } from 'node:path'
import type { FoundServer } from './host-files.js'
import { UsageError } from '../base/usage-error.js'
import { textOf } from './host-files.js'

/** Values for the variables of a host's file. */
interface Variables {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  /** Gives the value of `${input:ID}`. */
  readonly input: (id: string) => Promise<string>
  /** Hears of each value of a variable of the environment or an input: it may be a secret. */
  readonly note?: ((value: string, name: string) => void) | undefined
}

/** Variables that say where something is. */
const places: ReadonlySet<string> = new Set(['workspaceFolder', 'userHome', 'pathSeparator', '/'])
const variable = /\$\{([^}]+)\}/g

/**
 * The entry of a server with its variables replaced: `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${input:ID}`,
 * `${file:PATH}`, `${workspaceFolder}`, `${userHome}`. Rejects with UsageError for one without a value.
 */
export async function fill(found: FoundServer, variables: Variables): Promise<FoundServer['entry']> {
  const values = new Map<string, string>()
  // one after the other: a person may be asked for it
  for (const [, inner = ''] of JSON.stringify(found.entry).matchAll(variable))
    if (!values.has(inner)) {
      const value = await lookUp(inner, found, variables)
      values.set(inner, value)
      if (!places.has(inner)) variables.note?.(value, inner)
    }
  const replace = (value: unknown): unknown => {
    if (typeof value === 'string')
      return value.replace(variable, (_, inner: string) => values.get(inner) ?? '')
    if (Array.isArray(value)) return value.map(replace)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, replace(item)]))
  }
  return replace(found.entry) as FoundServer['entry']
}

async function lookUp(inner: string, found: FoundServer, { env, home, input }: Variables): Promise<string> {
  if (inner === 'workspaceFolder') return found.folder
  if (inner === 'userHome') return home
  if (inner === 'pathSeparator' || inner === '/') return process.platform === 'win32' ? '\\' : '/'
  if (inner.startsWith('input:')) return await input(inner.slice(6))
  if (inner.startsWith('file:')) return secretIn(inner.slice(5), found)
  const [, name = inner, usual] = /^(?:env:)?(.*?)(?::-(.*))?$/s.exec(inner) ?? []
  const known = Object.hasOwn(env, name) ? env[name] : undefined
  if (known !== undefined && (known !== '' || usual === undefined)) return known
  if (usual !== undefined) return usual
  throw new UsageError(`${found.file}: ${found.name} needs the variable ${name}: set it in the environment`)
}

/** Bytes of a file that is a value. */
const mostBytes = 65_536

/** What a file has in it, such as a secret that is mounted; without the end of its line. */
function secretIn(path: string, { file, name, folder }: FoundServer): string {
  try {
    const text = textOf(resolve(folder, path), mostBytes)
    return text.replace(/\r?\n$/, '')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = error instanceof UsageError ? error.message : `it cannot be read (${code})`
    throw new UsageError(`${file}: ${name} needs the file ${path}: ${why}`)
  }
}
