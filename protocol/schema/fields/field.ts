import { isObject, type JsonObject } from '../../wire/json.js'
import type { Parsed, Schema, StandardSchema } from '../schema.js'
import { type Issue, keysOf } from '../issues.js'

/** Whether a field has to be given; readers of one with a default always find a value. */
export type Presence = 'required' | 'optional' | 'default'

/** A kind of field: the JSON Schema that is shown, and the reader of its values. */
export interface FieldKind<Output> {
  readonly jsonSchema: JsonObject
  /** What is wrong with its options; thrown by the definition that uses it. */
  readonly problems: readonly Issue[]
  readonly parse: (value: unknown) => Parsed<Output> | Promise<Parsed<Output>>
  /** The value that a text stands for: arguments of prompts all come as text. */
  readonly fromText: (text: string) => unknown
}

/** Options of every field. */
export interface FieldNotes<Input = unknown> {
  /** A name for people. */
  readonly title?: string
  /** What it means, for the model. */
  readonly description?: string
  /** What `run` is given when the caller leaves it out. */
  readonly default?: Input
  /** Values as they may look. */
  readonly examples?: readonly Input[]
  /** HTTP clients of 2026-07-28 repeat the value in the header `Mcp-Param-<header>` (Streamable HTTP). */
  readonly header?: string
  /** Further keywords for the JSON Schema, shown as they are and not checked. */
  readonly meta?: JsonObject
}

/** A field: a schema of one value. It is frozen, and may be used in any number of definitions. */
export class Field<Output = unknown, P extends Presence = Presence> implements Schema<Output> {
  readonly jsonSchema: JsonObject
  readonly presence: P
  readonly problems: readonly Issue[]
  readonly parse: (value: unknown) => Parsed<Output> | Promise<Parsed<Output>>
  readonly fromText: (text: string) => unknown
  readonly #kind: FieldKind<Output>
  readonly #notes: FieldNotes

  constructor(kind: FieldKind<Output>, notes: FieldNotes, presence: P) {
    const { jsonSchema, problems } = describe(kind, notes)
    this.#kind = kind
    this.#notes = notes
    this.jsonSchema = jsonSchema
    this.presence = presence
    this.problems = problems
    this.parse = withDefault(kind, notes)
    this.fromText = kind.fromText
    Object.freeze(this)
  }

  /** The same field, which may be left out: `run` is given `undefined` then. */
  optional(): Field<Output, 'optional'> {
    return optionalOf(this.#kind, this.#notes)
  }

  /** The field as a Standard Schema 1.1, for other libraries. */
  get '~standard'(): StandardSchema<unknown, Output>['~standard'] {
    const show = () => ({ ...this.jsonSchema })
    return {
      version: 1,
      vendor: 'caduceus',
      validate: (value) => {
        const parsed = this.parse(value)
        return parsed instanceof Promise ? parsed.then(toStandard) : toStandard(parsed)
      },
      jsonSchema: { input: show, output: show },
    }
  }
}

/** Whether this is a field, also one of another copy of the library. */
export function isField(value: unknown): value is Field {
  return isObject(value) && 'presence' in value && 'problems' in value && typeof value.parse === 'function'
}

/** Outside of the class: one that names itself in its body is called something else once it is bundled. */
function optionalOf<Output>(kind: FieldKind<Output>, notes: FieldNotes): Field<Output, 'optional'> {
  return new Field(kind, notes, 'optional')
}

function toStandard<Output>(parsed: Parsed<Output>) {
  if ('value' in parsed) return parsed
  return { issues: parsed.issues.map(({ path, message }) => ({ message, path: keysOf(path) })) }
}

function withDefault<Output>(kind: FieldKind<Output>, notes: FieldNotes): FieldKind<Output>['parse'] {
  if (!('default' in notes)) return kind.parse
  return (value) => kind.parse(value === undefined ? notes.default : value)
}

const texts = ['title', 'description', 'header'] as const

function describe<Output>(
  kind: FieldKind<Output>,
  notes: FieldNotes,
): Pick<Field, 'jsonSchema' | 'problems'> {
  const { title, description, examples, header, meta } = notes
  const problems = [...kind.problems]
  for (const key of texts) {
    const value: unknown = notes[key]
    if (value !== undefined && typeof value !== 'string')
      problems.push({ path: '', message: `${key}: expected a string` })
  }
  if (examples !== undefined && !Array.isArray(examples))
    problems.push({ path: '', message: 'examples: expected an array' })
  if (meta !== undefined && !isObject(meta)) problems.push({ path: '', message: 'meta: expected an object' })
  if ('default' in notes && problems.length === 0) problems.push(...wrongDefault(kind, notes.default))
  const jsonSchema = Object.freeze({
    ...kind.jsonSchema,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...('default' in notes && { default: notes.default }),
    ...(examples !== undefined && { examples }),
    ...(header !== undefined && { 'x-mcp-header': header }),
    ...meta,
  })
  return { jsonSchema: jsonSchema as JsonObject, problems: Object.freeze(problems) }
}

/** A default that is checked by a promise passes. */
function wrongDefault<Output>(kind: FieldKind<Output>, value: unknown): readonly Issue[] {
  const parsed = kind.parse(value)
  if (parsed instanceof Promise || !('issues' in parsed)) return []
  return parsed.issues.map(({ path, message }) => ({ path, message: `default: ${message}` }))
}
