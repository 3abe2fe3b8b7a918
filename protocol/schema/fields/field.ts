import { isObject, type JsonObject } from '../../wire/json.js'
import type { Parsed, Schema, StandardSchema } from '../schema.js'
import { type Issue, keysOf } from '../issues.js'

/**
 * Whether a field has to be given; one with a default may be left out, and is always there for whoever reads
 * it.
 */
export type Presence = 'required' | 'optional' | 'default'

/** What one kind of field does: what is shown of it, and how its value is read. */
export interface FieldKind<Output> {
  readonly jsonSchema: JsonObject
  /** What is wrong with the options it was made with; told when it is used in a definition. */
  readonly problems: readonly Issue[]
  readonly parse: (value: unknown) => Parsed<Output> | Promise<Parsed<Output>>
  /** The value that a text stands for, where all values come as text: the arguments of prompts. */
  readonly fromText: (text: string) => unknown
}

/** What anybody may say about a field. */
export interface FieldNotes<Input = unknown> {
  /** A name for people. */
  readonly title?: string
  /** What it means, for the model. */
  readonly description?: string
  /** What `run` is given when the caller leaves it out. */
  readonly default?: Input
  /** Values as they may look. */
  readonly examples?: readonly Input[]
  /**
   * Has HTTP clients of 2026-07-28 repeat the value in the header `Mcp-Param-<header>` (specification:
   * streamable HTTP).
   */
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

  /** What makes it a schema for other libraries, too (Standard Schema 1.1). */
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

/** Out here: a class that names itself in its body is called something else once it is bundled. */
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

/** What has to be waited for is not known to be wrong. */
function wrongDefault<Output>(kind: FieldKind<Output>, value: unknown): readonly Issue[] {
  const parsed = kind.parse(value)
  if (parsed instanceof Promise || !('issues' in parsed)) return []
  return parsed.issues.map(({ path, message }) => ({ path, message: `default: ${message}` }))
}
