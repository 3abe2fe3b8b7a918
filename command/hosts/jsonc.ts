import { UsageError } from '../base/usage-error.js'

/** What may stand between the words of a file: spaces and comments. */
const blank = /(?:[\s\uFEFF]+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y
const word = /"(?:[^"\\\n]|\\.)*"|-?\d[\d.eE+-]*|true|false|null/y

/** Where something stands: after how many characters it begins, and ends. */
interface Span {
  readonly from: number
  readonly to: number
}

/** A field of an object: where its key begins, and where its value stands. */
export interface PlacedField {
  readonly name: string
  readonly at: number
  readonly value: Span
}

/** Where an object stands, with its braces, and its fields in order, also those that are there twice. */
export interface Place extends Span {
  readonly fields: readonly PlacedField[]
}

/** By objects, where they stand. */
export type Places = WeakMap<object, Place>

/** Where the field stands that counts, if the object has it. */
export function fieldAt(places: Places, object: object, name: string): PlacedField | undefined {
  return places.get(object)?.fields.findLast((field) => field.name === name)
}

/** Spaces and comments from there on: after how many characters they end. */
export function skipBlank(source: string, from: number): number {
  blank.lastIndex = from
  blank.exec(source)
  return blank.lastIndex
}

/** Objects and arrays within each other. */
const maxDepth = 200

/**
 * Reads JSON with comments and trailing commas, as hosts write it; `where` names it, `note` hears of keys
 * that an object has twice, of which the last one counts. `places` gets where each object stands. Throws
 * UsageError, with the line and column.
 */
export function parseJsonc(
  source: string,
  where: string,
  note: (problem: string) => void = () => {},
  places?: Places,
): unknown {
  let at = 0
  const lineAt = (index: number): number => source.slice(0, index).split('\n').length
  const columnAt = (index: number): number => index - source.lastIndexOf('\n', index - 1)
  const fail = (expected: string): never => {
    // shows one character only: the rest may be a secret
    const found =
      at < source.length ? JSON.stringify(String.fromCodePoint(source.codePointAt(at) ?? 0)) : 'its end'
    throw new UsageError(
      `${where} is no JSON (line ${lineAt(at)}, column ${columnAt(at)}: expected ${expected}, got ${found}): mend the file`,
    )
  }
  const skip = (): void => {
    at = skipBlank(source, at)
  }
  const takes = (mark: string): boolean => {
    skip()
    const isThere = source[at] === mark
    if (isThere) at += 1
    return isThere
  }
  const readWord = (expected: string): unknown => {
    word.lastIndex = at
    const [found] = word.exec(source) ?? []
    if (found === undefined) return fail(expected)
    try {
      const value: unknown = JSON.parse(found)
      at += found.length
      return value
    } catch {
      return fail(expected)
    }
  }
  const readList = (end: string, readOne: () => void): void => {
    while (!takes(end)) {
      readOne()
      if (takes(',')) continue
      if (takes(end)) return
      fail(`, or ${end}`)
    }
  }
  const readValue = (depth: number): unknown => {
    if (depth > maxDepth) return fail(`at most ${maxDepth} objects and arrays within each other`)
    if (takes('[')) {
      const items: unknown[] = []
      readList(']', () => items.push(readValue(depth + 1)))
      return items
    }
    if (!takes('{')) return readWord('a value')
    const from = at - 1
    const fields = new Map<string, unknown>()
    const placed: PlacedField[] = []
    readList('}', () => {
      const begin = at
      const name =
        source[at] === '"' ? String(readWord('a name in double quotes')) : fail('a name in double quotes')
      if (!takes(':')) fail(':')
      skip()
      const valueFrom = at
      const value = readValue(depth + 1)
      if (fields.has(name))
        note(`${where}, line ${lineAt(begin)}: ${JSON.stringify(name)} is there twice: the last one counts`)
      fields.set(name, value)
      placed.push({ name, at: begin, value: { from: valueFrom, to: at } })
    })
    const read = Object.fromEntries(fields)
    places?.set(read, { from, to: at, fields: placed })
    return read
  }
  const value = readValue(0)
  skip()
  return at < source.length ? fail('nothing behind the object') : value
}
