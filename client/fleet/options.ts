import { fieldOf } from '../../runtime/base/errors.js'
import type { LogOptions } from '../../runtime/faults/log.js'
import { among } from '../../runtime/base/near.js'
import type { TreeOptions } from '../../runtime/process/root.js'
import type { ClientTransport } from '../../transports/contract/contract.js'
import {
  type ClientOptions,
  type ClientSettings,
  readClientOptions,
  readTreeOptions,
  type TreeSettings,
  treeFields,
} from '../options/options.js'
import { bad, readFields, readFunction, readMs, readObject, readText } from '../base/read-options.js'
import { ClientError, optionError } from '../base/errors.js'
import { readEntry, type ServerEntry } from './server-entry.js'

/** The options that several clients may share. */
export type SharedClientOptions = Omit<ClientOptions, 'name' | 'transport'>

/** How the clients of many servers are started. */
export interface StartClientsOptions extends TreeOptions, LogOptions {
  /** Shown in trees and errors. Default `clients`. */
  readonly name?: string
  /** Servers that must be ready before the start resolves: names, or `all`. Default none. */
  readonly required?: readonly string[] | 'all'
  /** Milliseconds that the required ones may take. Default 30,000. */
  readonly readyTimeout?: number
  /** Options of every client, or a function that returns them for the server of that name. */
  readonly client?: SharedClientOptions | ((name: string) => SharedClientOptions)
  /**
   * Values of `${NAME}`, `${env:NAME}` and `${NAME:-default}` in entries, such as `process.env`. An unset
   * variable without default is BAD_OPTION, and so is any variable without this option.
   */
  readonly variables?: Readonly<Record<string, string | undefined>>
  /** Called with each line that a server of a command writes to standard error. */
  readonly onStderr?: (name: string, line: string) => void
}

/** The servers of a configuration by name: the object under `mcpServers`. */
export type ServerEntries = Readonly<Record<string, ServerEntry>>

/** The whole configuration of a host: servers are below `mcpServers` or `servers`, the rest is ignored. */
export type HostConfiguration =
  | { readonly mcpServers: ServerEntries }
  | { readonly servers: ServerEntries; readonly inputs?: readonly unknown[] }

export interface ClientsSettings {
  readonly name: string
  readonly clients: readonly ClientSettings[]
  readonly required: readonly string[]
  readonly readyTimeout: number
  readonly tree: TreeSettings
  /** Throws BAD_OPTION, naming the field; undefined when disabled. */
  readonly read: (name: string, entry: unknown) => ClientSettings | undefined
}

const fields = ['name', 'required', 'readyTimeout', 'client', 'variables', 'onStderr']

/** Throws BAD_OPTION. */
export function readClientsOptions(
  servers: ServerEntries | HostConfiguration,
  options: StartClientsOptions,
): ClientsSettings {
  const given = readFields(options, 'options', [...fields, ...treeFields])
  const shared = readShared(given.client)
  const variables = given.variables === undefined ? undefined : readObject(given.variables, 'variables')
  const { onStderr } = options
  if (onStderr !== undefined) readFunction(onStderr, 'onStderr')
  const readOne = (name: string, entry: unknown): ClientSettings | undefined => {
    const transport = readEntry(entry, `mcpServers.${name}`, {
      variables: variables as StartClientsOptions['variables'],
      onStderr: onStderr === undefined ? undefined : (line) => onStderr(name, line),
    })
    return transport && readClientOptions({ ...shared(name), name, transport })
  }
  const clients = Object.entries(entriesIn(servers))
    .map(([name, entry]) => readOne(readText(name, 'mcpServers'), entry))
    .filter((one) => one !== undefined)
  return Object.freeze({
    name: given.name === undefined ? 'clients' : readText(given.name, 'name'),
    clients,
    required: readRequired(
      given.required,
      clients.map(({ name }) => name),
    ),
    readyTimeout: readMs(given.readyTimeout, 'readyTimeout', 30_000),
    tree: readTreeOptions(options),
    read: readOne,
  })
}

function entriesIn(given: unknown): Record<string, unknown> {
  if (typeof given === 'string')
    throw bad('mcpServers', 'an object of servers by name: read the file, and parse it, first', given)
  const servers = readObject(given, 'mcpServers')
  for (const field of ['mcpServers', 'servers']) {
    const inner = servers[field] as Record<string, unknown> | null | undefined
    const isEntry = ['command', 'url', 'transport', 'type'].some((word) => inner?.[word] !== undefined)
    if (typeof inner === 'object' && inner !== null && !isEntry) return readObject(inner, field)
  }
  return servers
}

/** Throws BAD_OPTION. */
export function readShared(value: unknown): (name: string) => SharedClientOptions {
  if (typeof value === 'function') return (name) => checkShared(value(name))
  const shared = checkShared(value ?? {})
  return () => shared
}

function checkShared(value: unknown): SharedClientOptions {
  const shared = readObject(value, 'client')
  for (const field of ['name', 'transport'])
    if (Object.hasOwn(shared, field))
      throw bad(`client.${field}`, 'no such field: each server has its own', shared[field])
  try {
    readClientOptions({ ...shared, transport: nowhere })
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    throw optionError(`client.${fieldOf(error)}`, `client.${error.message}`, error)
  }
  return shared
}

/** Stands in while the other options are checked. */
const nowhere: ClientTransport = Object.freeze({
  name: 'nowhere',
  connect: () => {
    throw new Error('this transport leads nowhere')
  },
})

function readRequired(value: unknown, names: readonly string[]): readonly string[] {
  if (value === undefined) return []
  if (value === 'all') return names
  if (!Array.isArray(value)) throw bad('required', "names of servers, or 'all'", value)
  for (const [index, name] of value.entries())
    if (!names.includes(name))
      throw bad(`required[${index}]`, among('the name of a server that is not disabled', names, name), name)
  return [...value]
}
