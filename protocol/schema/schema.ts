import { ProtocolError } from '../wire/errors.js'
import { deepFreeze, isObject, type JsonObject, kindOf } from '../wire/json.js'
import { compileCheck, prepareCheck } from './check.js'
import { formatPath, type Issue, type ValueCheck } from './issues.js'
import { admitSchema, copySchema } from './limits.js'

/** The value as the schema reads it, or all that is wrong with it. */
export type Parsed<T> = { readonly value: T } | { readonly issues: readonly Issue[] }

/** Every kind of schema: what the far side is shown, and what reads an incoming value. */
export interface Schema<T = unknown> {
  readonly jsonSchema: JsonObject
  /**
   * Does not throw for a bad value. Returns a promise where it has to wait: for a JSON Schema to be compiled
   * with its first value (rejects with BAD_SCHEMA), or for the author's own schema.
   */
  readonly parse: (value: unknown) => Parsed<T> | Promise<Parsed<T>>
  /**
   * Loads what `parse` needs (ajv for a JSON Schema) ahead of the first value. Rejects when it cannot be
   * loaded.
   */
  readonly prepare?: () => Promise<void>
}

/** A schema of a library that follows Standard Schema 1.1 with JSON Schema, such as zod 4.2 or arktype. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly jsonSchema: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
      readonly output: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
    }
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/** The result of a Standard Schema. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

/** One issue of a Standard Schema. */
export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** Input of `toSchema`: a Standard Schema, or a plain JSON Schema. */
export type SchemaInput = StandardSchema | { readonly [keyword: string]: unknown }

/** The type of the values that `S` reads; `unknown` for a plain JSON Schema. */
export type SchemaOutput<S> = S extends StandardSchema<infer _, infer Output> ? Output : unknown

/** Which side of a schema that transforms values is shown. Default `input`. */
export type SchemaSide = 'input' | 'output'

/**
 * Takes any kind of schema. Throws BAD_SCHEMA for a Standard Schema without JSON Schema, and for a JSON
 * Schema beyond `schemaLimits`, with a reference to the outside, or in an unknown dialect.
 */
export function toSchema<S extends SchemaInput>(
  input: S,
  side: SchemaSide = 'input',
): Schema<SchemaOutput<S>> {
  const schema = isOwn(input)
    ? fromOwn(input)
    : isStandard(input)
      ? fromStandard(input, side)
      : fromJsonSchema(input)
  return schema as Schema<SchemaOutput<S>>
}

/** A field: a schema that keeps the problems of its own making. */
interface OwnSchema extends Schema {
  readonly problems: readonly Issue[]
}

/** Whether this is a field, of any copy of the library. */
export function isOwn(input: SchemaInput): input is SchemaInput & OwnSchema {
  const { parse, problems } = input as { parse?: unknown; problems?: unknown }
  return typeof parse === 'function' && Array.isArray(problems)
}

function fromOwn({ jsonSchema, parse, problems }: OwnSchema): Schema {
  if (problems.length > 0) {
    const sentences = problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
    throw new ProtocolError('BAD_SCHEMA', sentences.join('; '))
  }
  return Object.freeze({ jsonSchema: deepFreeze(copySchema(jsonSchema)), parse })
}

/** Whether this follows Standard Schema; it may lack its JSON Schema all the same. */
export function isStandard(input: unknown): input is StandardSchema {
  const isHolder = typeof input === 'function' || isObject(input) // arktype's schemas are functions
  return isHolder && isObject(Reflect.get(input, '~standard'))
}

function fromStandard(input: StandardSchema, side: SchemaSide): Schema {
  const standard = input['~standard']
  const jsonSchema = deepFreeze(copySchema(describe(standard, side)))

  function parse(value: unknown): Parsed<unknown> | Promise<Parsed<unknown>> {
    const result = standard.validate(value)
    return result instanceof Promise ? result.then(fromResult) : fromResult(result)
  }

  return Object.freeze({ jsonSchema, parse })
}

/** What gives a library's schemas a JSON Schema. */
const remedies: { readonly [vendor: string]: string } = {
  zod: 'zod 4.2 and newer have it (zod 3 has not)',
  valibot: 'wrap it, toStandardJsonSchema(schema) of @valibot/to-json-schema',
  arktype: 'arktype 2.1.28 and newer have it',
}

function describe(standard: StandardSchema['~standard'], side: SchemaSide): unknown {
  const vendor = String(standard.vendor)
  if (!isObject(standard.jsonSchema)) {
    const problem = `expected ~standard.jsonSchema, got nothing from ${vendor}: ${Object.hasOwn(remedies, vendor) ? remedies[vendor] : 'a newer version or its JSON Schema add-on has it'}`
    throw new ProtocolError('BAD_SCHEMA', problem)
  }
  try {
    return standard.jsonSchema[side]({ target: 'draft-2020-12' })
  } catch (cause) {
    const problem = `${vendor} cannot show this schema as JSON Schema: ${cause instanceof Error ? cause.message : kindOf(cause)}`
    throw new ProtocolError('BAD_SCHEMA', problem, { cause })
  }
}

function fromResult(result: StandardResult<unknown>): Parsed<unknown> {
  if (result.issues === undefined) return { value: result.value }
  // arrays of a class of their own, as arktype has them, make something else of `map`
  const issues = Array.from(result.issues, ({ message, path = [] }) => ({
    path: formatPath(Array.from(path, keyOf)),
    message,
  }))
  return { issues }
}

function keyOf(part: PropertyKey | { readonly key: PropertyKey }): PropertyKey {
  return typeof part === 'object' ? part.key : part
}

function fromJsonSchema(input: SchemaInput): Schema {
  return schemaWith(deepFreeze(admitSchema(input)), compileCheck, prepareCheck)
}

/** A schema that is taken as it is. */
export function schemaWith(
  jsonSchema: JsonObject,
  compileWith: typeof compileCheck,
  prepareWith: typeof prepareCheck,
): Schema {
  let compiling: Promise<ValueCheck> | undefined
  let check: ValueCheck | undefined

  function parse(value: unknown): Parsed<unknown> | Promise<Parsed<unknown>> {
    if (check !== undefined) return judge(check, value)
    compiling ??= compileWith(jsonSchema).catch((error: unknown) => {
      // a schema stays wrong; what could not be loaded can be later
      if (!(error instanceof ProtocolError)) compiling = undefined
      throw error
    })
    return compiling.then((ready) => {
      check = ready
      return judge(ready, value)
    })
  }

  return Object.freeze({ jsonSchema, parse, prepare: () => prepareWith(jsonSchema) })
}

function judge(check: ValueCheck, value: unknown): Parsed<unknown> {
  const issues = check(value)
  return issues.length === 0 ? { value } : { issues }
}
