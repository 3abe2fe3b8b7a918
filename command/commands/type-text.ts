import { isObject } from '../../protocol/wire/json.js'
import { unsteered } from '../../runtime/base/steering.js'
import { jsonText } from '../terminal/screen.js'

type Schema = Readonly<Record<string, unknown>>

/** A tool as a server lists it. */
interface Listed {
  readonly name: string
  readonly description?: string
  readonly inputSchema: object
  readonly outputSchema?: object
}

/** Schemas within schemas; what is deeper is `unknown`. */
const deepest = 20
/** Schemas of one tool: references may multiply them. */
const most = 5_000
/** Characters of a description. */
const longest = 2_000

/** The declaration of a server's tools for `startClient<Name>(...)`, in the order of their names. */
export function declarationOf(server: string, tools: readonly Listed[]): string {
  const sorted = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1))
  const rows = sorted.flatMap(({ name, description, inputSchema, outputSchema }) => [
    ...comment(description, '    '),
    `    readonly ${keyOf(name)}: {`,
    `      readonly input: ${new Reader(inputSchema).typeOf(inputSchema, '      ')}`,
    `      readonly output: ${outputSchema === undefined ? 'undefined' : new Reader(outputSchema).typeOf(outputSchema, '      ')}`,
    '    }',
  ])
  return `export interface ${typeName(server)} {\n  readonly tools: {\n${rows.join('\n')}\n  }\n}\n`
}

/** A name for a type: `Files` for `files`, `MyServer` for `my-server`. */
export function typeName(server: string): string {
  const words = server.match(/[A-Za-z0-9]+/g) ?? []
  const name = words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')
  return /^[A-Z]/.test(name) ? name : `Server${name}`
}

/** Turns JSON Schemas of one document into types of TypeScript; what has no type there is `unknown`. */
class Reader {
  readonly #root: unknown
  readonly #open: string[] = []
  #read = 0

  constructor(root: unknown) {
    this.#root = root
  }

  typeOf(schema: unknown, indent: string, depth = 0): string {
    if (schema === false) return 'never'
    this.#read += 1
    if (!isObject(schema) || depth > deepest || this.#read > most) return 'unknown'
    if (typeof schema.$ref === 'string') return this.#referred(schema.$ref, indent, depth)
    if ('const' in schema) return literal(schema.const)
    if (Array.isArray(schema.enum)) return union(schema.enum.map(literal))
    const parts = [
      ...this.#own(schema, indent, depth),
      ...many(schema.anyOf, schema.oneOf).map((forms) =>
        union(forms.map((form) => this.typeOf(form, indent, depth + 1))),
      ),
      ...many(schema.allOf).flatMap((all) => all.map((one) => this.typeOf(one, indent, depth + 1))),
    ].filter((part) => part !== 'unknown')
    if (parts.length === 0) return 'unknown'
    return parts.length === 1 ? String(parts[0]) : parts.map((part) => grouped(part)).join(' & ')
  }

  #own(schema: Schema, indent: string, depth: number): string[] {
    const { type } = schema
    if (Array.isArray(type))
      return [union(type.flatMap((one) => this.#own({ ...schema, type: one }, indent, depth)))]
    switch (type ?? (isObject(schema.properties) ? 'object' : undefined)) {
      case 'string':
      case 'boolean':
      case 'null':
        return [String(type)]
      case 'number':
      case 'integer':
        return ['number']
      case 'array':
        return [this.#list(schema, indent, depth)]
      case 'object':
        return [this.#object(schema, indent, depth)]
      default:
        return []
    }
  }

  #list({ prefixItems, items }: Schema, indent: string, depth: number): string {
    if (Array.isArray(prefixItems)) {
      const first = prefixItems.map((item) => this.typeOf(item, indent, depth + 1))
      const rest = items === false ? [] : [`...${grouped(this.typeOf(items, indent, depth + 1))}[]`]
      return `[${[...first, ...rest].join(', ')}]`
    }
    return `${grouped(this.typeOf(items, indent, depth + 1))}[]`
  }

  #object({ properties, required, additionalProperties }: Schema, indent: string, depth: number): string {
    const names = isObject(properties) ? Object.keys(properties) : []
    if (names.length === 0) {
      if (additionalProperties === false) return 'Record<string, never>'
      const value = isObject(additionalProperties)
        ? this.typeOf(additionalProperties, indent, depth + 1)
        : 'unknown'
      return `Record<string, ${value}>`
    }
    const inner = `${indent}  `
    const rows = names.flatMap((name) => {
      const property = (properties as Schema)[name]
      const mark = Array.isArray(required) && required.includes(name) ? '' : '?'
      const about =
        isObject(property) && typeof property.description === 'string' ? property.description : undefined
      return [
        ...comment(about, inner),
        `${inner}${keyOf(name)}${mark}: ${this.typeOf(property, inner, depth + 1)}`,
      ]
    })
    return `{\n${rows.join('\n')}\n${indent}}`
  }

  /** The type that a reference within the document points to; a recursive one is `unknown`. */
  #referred(reference: string, indent: string, depth: number): string {
    if (!/^#(?:\/|$)/.test(reference) || this.#open.includes(reference)) return 'unknown'
    const steps = reference.split('/').slice(1)
    const target = steps.reduce<unknown>(
      (place, step) =>
        isObject(place) ? place[step.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined,
      this.#root,
    )
    this.#open.push(reference)
    const type = this.typeOf(target, indent, depth + 1)
    this.#open.pop()
    return type
  }
}

function comment(text: string | undefined, indent: string): string[] {
  const lines = unsteered((text ?? '').slice(0, longest))
    .replaceAll('\r', '')
    .replaceAll('*/', '*\\/')
    .trim()
    .split('\n')
  if (lines.length === 1) return lines[0] === '' ? [] : [`${indent}/** ${lines[0]} */`]
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line.trim()}`.trimEnd()), `${indent} */`]
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)
}

function literal(value: unknown): string {
  if (typeof value === 'string') return quoted(value)
  return value === null || typeof value === 'number' || typeof value === 'boolean' ? String(value) : 'unknown'
}

/** A text as TypeScript has it, whatever is in it; what would change the order of what is read as escapes. */
function quoted(text: string): string {
  return jsonText(text)
}

function union(types: readonly string[]): string {
  if (types.includes('unknown')) return 'unknown'
  const different = [...new Set(types)]
  return different.length === 0 ? 'never' : different.join(' | ')
}

/** A union or an intersection in brackets. */
function grouped(type: string): string {
  return /^[\w.]+$|^\{[^{}]*\}$|^Record<[^<>|&]*>$/.test(type) ? type : `(${type})`
}

function many(...lists: readonly unknown[]): unknown[][] {
  return lists.filter((list): list is unknown[] => Array.isArray(list) && list.length > 0)
}
