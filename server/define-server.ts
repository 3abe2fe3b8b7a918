import { isObject } from '../protocol/json.js'
import type { Implementation } from '../protocol/types/base.js'
import { show } from '../runtime/errors.js'
import { isTool, type ToolDefinition } from './define-tool.js'
import { ServerError } from './errors.js'

/** A server as its author writes it. */
export interface ServerDefinitionOptions {
  /** What the server calls itself, and what its tree is named after. */
  readonly name: string
  readonly version: string
  /** A name for people. */
  readonly title?: string
  readonly description?: string
  /** How to use the server, for the model. */
  readonly instructions?: string
  readonly tools?: readonly ToolDefinition[]
}

/** A checked and frozen server: data, not a process; start it as often as you like. */
export interface ServerDefinition {
  readonly kind: 'server'
  /** Who the server says it is. */
  readonly info: Readonly<Implementation>
  readonly instructions: string | undefined
  readonly tools: readonly ToolDefinition[]
}

const fields = new Set(['name', 'version', 'title', 'description', 'instructions', 'tools'])

/** Defines a server. Throws BAD_DEFINITION, naming the server and the field. */
export function defineServer(options: ServerDefinitionOptions): ServerDefinition {
  if (!isObject(options)) throw bad('server', 'options', 'an object', options)
  const { name, version, title, description, instructions, tools = [] } = options
  if (typeof name !== 'string' || name === '') throw bad('server', 'name', 'a non-empty string', name)
  const about = `server ${show(name)}`
  for (const field of Object.keys(options))
    if (!fields.has(field)) throw bad(about, field, `a field among ${[...fields].join(', ')}`, field)
  if (typeof version !== 'string' || version === '')
    throw bad(about, 'version', 'a non-empty string', version)
  for (const [field, value] of Object.entries({ title, description, instructions }))
    if (value !== undefined && typeof value !== 'string') throw bad(about, field, 'a string', value)
  checkTools(about, tools)
  const info = {
    name,
    version,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
  }
  return Object.freeze({
    kind: 'server',
    info: Object.freeze(info),
    instructions,
    tools: Object.freeze([...tools]),
  })
}

/** Whether this is what `defineServer` returns. */
export function isServer(value: unknown): value is ServerDefinition {
  return isObject(value) && value.kind === 'server' && Object.isFrozen(value)
}

function checkTools(about: string, tools: unknown): void {
  if (!Array.isArray(tools)) throw bad(about, 'tools', 'an array of tools', tools)
  const names = new Set<string>()
  for (const [index, tool] of tools.entries()) {
    if (!isTool(tool)) throw bad(about, `tools[${index}]`, 'what defineTool returns', tool)
    if (names.has(tool.name)) throw bad(about, `tools[${index}]`, 'a name that no other tool has', tool.name)
    names.add(tool.name)
  }
}

function bad(about: string, field: string, expected: string, got: unknown): ServerError {
  return new ServerError('BAD_DEFINITION', `${about}: ${field}: expected ${expected}, got ${show(got)}`, {
    data: { field },
  })
}
