import { UsageError } from '../base/usage-error.js'

/** What may stand between the words of a file: spaces and comments. */
const blank = /(?:[\s\uFEFF]+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y
const word = /"(?:[^"\\\n]|\\.)*"|-?\d[\d.eE+-]*|true|false|null/y

/** By objects: their keys, and after how many characters each stands. */
export type Places = WeakMap<object, ReadonlyMap<string, number>>

/** Objects and arrays within each other. */
const maxDepth = 200

/**
 * Reads JSON with comments and trailing commas, as hosts write it; `where` names it, `note` hears of keys
 * that an object has twice, of which the last one counts. `places` gets where each object has its keys. Throws
 * UsageError, with the line.
 */
export function parseJsonc(
  source: string,
  where: string,
  note: (problem: string) => void = () => {},
  places?: Places,
): unknown {
  let at = 0
  const lineAt = (index: number): number => source.slice(0, index).split('\n').length
  const fail = (expected: string): never => {
    // shows one character only: the rest may be a secret
    const found =
      at < source.length ? JSON.stringify(String.fromCodePoint(source.codePointAt(at) ?? 0)) : 'its end'
    throw new UsageError(
      `${where} is no JSON (line ${lineAt(at)}: expected ${expected}, got ${found}): mend the file`,
    )
  }
  const skip = (): void => {
    blank.lastIndex = at
    blank.exec(source)
    at = blank.lastIndex
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
    const fields = new Map<string, unknown>()
    const keys = new Map<string, number>()
    readList('}', () => {
      const begin = at
      const name =
        source[at] === '"' ? String(readWord('a name in double quotes')) : fail('a name in double quotes')
      if (!takes(':')) fail(':')
      const value = readValue(depth + 1)
      if (fields.has(name))
        note(`${where}, line ${lineAt(begin)}: ${JSON.stringify(name)} is there twice: the last one counts`)
      fields.set(name, value)
      keys.set(name, begin)
    })
    const read = Object.fromEntries(fields)
    places?.set(read, keys)
    return read
  }
  const value = readValue(0)
  skip()
  return at < source.length ? fail('nothing behind the object') : value
}
