import { isObject } from '../../protocol/wire/json.js'
import { messageOf } from '../../runtime/base/errors.js'
import { didYouMean } from '../../runtime/base/near.js'
import { UsageError } from '../base/usage-error.js'

interface ArgumentSchema {
  readonly type?: unknown
  readonly properties?: Readonly<Record<string, unknown>> | undefined
  readonly required?: readonly string[] | undefined
  readonly additionalProperties?: unknown
}

/**
 * The arguments of a call: one JSON object, or `name=value` with the types of the tool's input schema. Throws
 * UsageError.
 */
export function readToolArguments(
  words: readonly string[],
  tool: string,
  schema: ArgumentSchema,
): Record<string, unknown> {
  const [first = ''] = words
  if (words.length === 1 && first.trimStart().startsWith('{')) return readObject(first)
  const { properties = {}, required = [] } = schema
  const known = Object.keys(properties)
  const given = Object.fromEntries(
    words.map((word) => {
      const [name, text] = splitPair(word)
      if (!Object.hasOwn(properties, name) && schema.additionalProperties !== true && known.length > 0)
        throw new UsageError(
          `${tool} has no argument ${name}${didYouMean(name, known)}: it takes ${known.join(', ')}`,
        )
      return [name, readValue(name, text, Object.hasOwn(properties, name) ? properties[name] : undefined)]
    }),
  )
  const missing = required.filter((name) => !Object.hasOwn(given, name))
  if (missing.length > 0)
    throw new UsageError(`${tool} needs ${missing.map((name) => `${name}=VALUE`).join(' and ')}`)
  return given
}

/** `name=value` as a pair. Throws UsageError. */
export function splitPair(word: string): readonly [name: string, value: string] {
  const at = word.indexOf('=')
  if (at < 1) throw new UsageError(`${word}: expected name=value, or one JSON object`)
  return [word.slice(0, at), word.slice(at + 1)]
}

/** A JSON object. Throws UsageError. */
function readObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch (error) {
    throw new UsageError(`the arguments are no JSON: ${messageOf(error)}`)
  }
  throw new UsageError('the arguments: expected a JSON object')
}

function readValue(name: string, text: string, schema: unknown): unknown {
  const types = typesOf(schema)
  if (types.length === 0) return parsed(text) ?? text
  const fits = types.map((type) => readers[type]?.(text)).find((value) => value !== undefined)
  if (fits !== undefined) return fits.value
  throw new UsageError(`${name}: expected ${types.join(' or ')}, got ${text}`)
}

/** The types of a property, text last, as it takes everything; none where the schema does not say. */
function typesOf(schema: unknown): string[] {
  if (!isObject(schema)) return []
  const branches = [schema.anyOf, schema.oneOf].find(Array.isArray)
  const types = branches !== undefined ? branches.flatMap(typesOf) : [schema.type].flat()
  const named = types.filter((type) => typeof type === 'string')
  return [...named.filter((type) => type !== 'string'), ...named.filter((type) => type === 'string')]
}

type Read = (text: string) => { readonly value: unknown } | undefined

const numeric: Read = (text) =>
  text.trim() !== '' && Number.isFinite(Number(text)) ? { value: Number(text) } : undefined

const readers: Readonly<Record<string, Read>> = {
  string: (value) => ({ value }),
  number: numeric,
  integer: (text) => (Number.isInteger(Number(text)) ? numeric(text) : undefined),
  boolean: (text) => (text === 'true' || text === 'false' ? { value: text === 'true' } : undefined),
  null: (text) => (text === 'null' ? { value: null } : undefined),
  array: (text) => asJson(text, Array.isArray),
  object: (text) => asJson(text, isObject),
}

function asJson(text: string, fits: (value: unknown) => boolean): { value: unknown } | undefined {
  const value = parsed(text)
  return value !== undefined && fits(value) ? { value } : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // a text that is no JSON stands for itself
  }
}
