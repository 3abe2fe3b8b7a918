import { isObject } from '../../protocol/wire/json.js'
import { messageOf } from '../../runtime/base/errors.js'
import { didYouMean } from '../../runtime/base/near.js'
import { UsageError } from '../base/usage-error.js'
import { textIn } from './given-content.js'

interface ArgumentSchema {
  readonly type?: unknown
  readonly properties?: Readonly<Record<string, unknown>> | undefined
  readonly required?: readonly string[] | undefined
  readonly additionalProperties?: unknown
}

/** Where the arguments of a call may come from besides the words themselves. */
interface ArgumentSources {
  /** Reads a file, or standard input (`-`), that is written as told. Rejects with UsageError. */
  readonly read: (path: string, written: string) => Promise<Buffer>
}

/**
 * The arguments of a call: a JSON object (`{...}`, `@file`, or `-` for standard input), and `name=value` with
 * the types of the tool's input schema, which come before it; `name=@file` is what is in a file,
 * `name=@@text` begins with an @. Rejects with UsageError.
 */
export async function readToolArguments(
  words: readonly string[],
  tool: string,
  schema: ArgumentSchema,
  { read }: ArgumentSources,
): Promise<Record<string, unknown>> {
  const [first = '', ...others] = words
  const whole = await readWhole(first, read)
  const pairs = whole === undefined ? words : others
  // the server judges an object by itself
  if (whole !== undefined && pairs.length === 0) return whole
  const { properties = {}, required = [] } = schema
  const known = Object.keys(properties)
  const given: [name: string, value: unknown][] = []
  for (const word of pairs) {
    const [name, text] = splitPair(word)
    if (!Object.hasOwn(properties, name) && schema.additionalProperties !== true && known.length > 0)
      throw new UsageError(
        `${tool} has no argument ${name}${didYouMean(name, known)}: it takes ${someOf(known, ', ')}`,
      )
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    given.push([name, await readField(name, text, property, read)])
  }
  const all = { ...whole, ...Object.fromEntries(given) }
  const missing = required.filter((name) => !Object.hasOwn(all, name))
  if (missing.length > 0)
    throw new UsageError(
      `${tool} needs ${someOf(
        missing.map((name) => `${name}=VALUE`),
        ' and ',
      )}`,
    )
  return all
}

/** Names that one line has. */
const mostNames = 30

function someOf(names: readonly string[], between: string): string {
  const more = names.length > mostNames ? ` (and ${names.length - mostNames} more)` : ''
  return `${names.slice(0, mostNames).join(between)}${more}`
}

/** A word that stands for a whole object, if it does. */
async function readWhole(
  word: string,
  read: ArgumentSources['read'],
): Promise<Record<string, unknown> | undefined> {
  if (word.trimStart().startsWith('{')) return readObject(word, 'the arguments')
  if (word === '-') return readObject(textIn(await read('-', '-'), 'standard input'), 'standard input')
  if (!word.startsWith('@')) return undefined
  const path = word.slice(1)
  return readObject(textIn(await read(path, word), path), path)
}

async function readField(
  name: string,
  text: string,
  property: unknown,
  read: ArgumentSources['read'],
): Promise<unknown> {
  if (text.startsWith('@@')) return readValue(name, text.slice(1), property)
  if (!text.startsWith('@')) return readValue(name, text, property)
  const path = text.slice(1)
  const bytes = await read(path, text)
  if (isObject(property) && property.contentEncoding === 'base64') return bytes.toString('base64')
  const content = textIn(bytes, path)
  // a file ends with the end of a line, which no number has
  const types = typesOf(property)
  return readValue(name, types.length === 0 || types.includes('string') ? content : content.trim(), property)
}

/** `name=value` as a pair. Throws UsageError. */
export function splitPair(word: string): readonly [name: string, value: string] {
  const at = word.indexOf('=')
  if (at < 1) throw new UsageError(`${word}: expected name=value, or one JSON object`)
  return [word.slice(0, at), word.slice(at + 1)]
}

/** A JSON object. Throws UsageError. */
function readObject(text: string, where: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch (error) {
    throw new UsageError(`${where}: no JSON: ${messageOf(error)}`)
  }
  throw new UsageError(`${where}: expected a JSON object`)
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
