import { isObject } from '../../protocol/wire/json.js'
import { UsageError } from '../base/usage-error.js'
import { fieldAt, parseJsonc, type Place, type PlacedField, type Places, skipBlank } from './jsonc.js'

/** Names of fields, from the outermost object inwards. */
export type Path = readonly string[]

/**
 * The text with another value at a path; objects that are not there are made. All else stays as it is
 * written: comments, order, indentation, ends of lines. Throws UsageError for a text that is no JSON, and
 * where the path leads through something that is no object.
 */
export function withValue(text: string, where: string, path: Path, value: unknown): string {
  const { whole, places } = read(text, where)
  const style = styleOf(text, whole, places)
  const { object, rest } = follow(whole, path, where)
  const [name = '', ...missing] = rest
  const field = fieldAt(places, object, name)
  const place = places.get(object) as Place
  if (field !== undefined) {
    const { from, to } = field.value
    const isCompact = !style.isOneLine && isOneLine(text, from, to) && isFilled(object[name])
    const written = isCompact ? compact(value) : rendered(value, lineIndent(text, field.at), style)
    return spliced(text, from, to, written)
  }
  const nested = missing.reduceRight((inner, one) => Object.fromEntries([[one, inner]]), value)
  return inserted(text, place, { name, value: nested }, style)
}

/** One in a line, such as `args`, stays in a line; one that was empty need not. */
function isFilled(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

/**
 * The text without the field at a path, also where it is there twice; comments stay. Undefined where there is
 * none. Throws UsageError for a text that is no JSON.
 */
export function withoutValue(text: string, where: string, path: Path): string | undefined {
  const { whole, places } = read(text, where)
  const { object, rest } = follow(whole, path, where)
  const [name = '', ...missing] = rest
  const place = places.get(object) as Place
  const gone = place.fields.filter((field) => field.name === name)
  if (missing.length > 0 || gone.length === 0) return undefined
  // from the end: what stands before it keeps its place
  return gone.reduceRight((rest) => {
    const { whole: now, places: nowPlaces } = read(rest, where)
    const { object: from } = follow(now, path, where)
    return cut(rest, nowPlaces.get(from) as Place, name)
  }, text)
}

/** The value at a path; undefined where there is none. Throws UsageError for a text that is no JSON. */
export function valueAt(text: string, where: string, path: Path): unknown {
  const { whole } = read(text, where)
  let value: unknown = whole
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

function read(
  text: string,
  where: string,
): { readonly whole: Record<string, unknown>; readonly places: Places } {
  const places: Places = new WeakMap()
  const whole = parseJsonc(text, where, undefined, places)
  if (!isObject(whole)) throw new UsageError(`${where}: expected an object`)
  return { whole, places }
}

/** The object that has the last field of the path, or would have it, and what of the path lies in it. */
function follow(whole: Record<string, unknown>, path: Path, where: string) {
  let object = whole
  for (const [index, name] of path.slice(0, -1).entries()) {
    const inner = Object.hasOwn(object, name) ? object[name] : undefined
    if (inner === undefined) return { object, rest: path.slice(index) }
    if (!isObject(inner))
      throw new UsageError(
        `${where}: ${path.slice(0, index + 1).join('.')} is no object: give a whole value for it`,
      )
    object = inner
  }
  return { object, rest: path.slice(-1) }
}

interface Style {
  /** What one more level is indented by. */
  readonly unit: string
  readonly newline: string
  /** Whether all of the file stands in one line. */
  readonly isOneLine: boolean
}

function styleOf(text: string, whole: object, places: Places): Style {
  const { from, to, fields } = places.get(whole) as Place
  const first = fields[0]
  const unit = first !== undefined && !isOneLine(text, from, first.at) ? lineIndent(text, first.at) : ''
  return {
    unit: unit === '' ? '  ' : unit,
    newline: /\r\n/.test(text) ? '\r\n' : '\n',
    isOneLine: fields.length > 0 && isOneLine(text, from, to),
  }
}

function isOneLine(text: string, from: number, to: number): boolean {
  return !text.slice(from, to).includes('\n')
}

/** What the line of a character begins with. */
function lineIndent(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at)
  return /^[ \t]*/.exec(line)?.[0] ?? ''
}

function rendered(value: unknown, indent: string, { unit, newline, isOneLine }: Style): string {
  if (isOneLine) return JSON.stringify(value)
  return JSON.stringify(value, undefined, unit).replaceAll('\n', `${newline}${indent}`)
}

/** In one line, as people write it. */
function compact(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(compact).join(', ')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const fields = Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${compact(one)}`)
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}

function inserted(
  text: string,
  place: Place,
  { name, value }: { readonly name: string; readonly value: unknown },
  style: Style,
): string {
  const last = place.fields.at(-1)
  const key = JSON.stringify(name)
  if (last !== undefined && isOneLine(text, place.from, place.to)) {
    const written = style.isOneLine ? `,${key}:${JSON.stringify(value)}` : `, ${key}: ${compact(value)}`
    return spliced(text, last.value.to, last.value.to, written)
  }
  if (last === undefined) return insertedFirst(text, place, { key, value }, style)
  const indent = lineIndent(text, last.at)
  const comma = commaAfter(text, last)
  const written = `${style.newline}${indent}${key}: ${rendered(value, indent, style)}`
  const at = lineEnd(text, comma === undefined ? last.value.to : comma + 1)
  // the new one ends as the last one did
  const ended = spliced(text, at, at, comma === undefined ? written : `${written},`)
  return comma === undefined ? spliced(ended, last.value.to, last.value.to, ',') : ended
}

/** The first field of an object, behind the comments that it has. */
function insertedFirst(
  text: string,
  { from, to }: Place,
  { key, value }: { readonly key: string; readonly value: unknown },
  style: Style,
): string {
  const outer = lineIndent(text, from)
  const indent = `${outer}${style.unit}`
  const inside = text.slice(from + 1, to - 1).trimEnd()
  if (style.isOneLine) return spliced(text, from + 1, to - 1, `${inside}${key}:${JSON.stringify(value)}`)
  const written = `${style.newline}${indent}${key}: ${rendered(value, indent, style)}${style.newline}${outer}`
  return spliced(text, from + 1, to - 1, `${inside}${written}`)
}

/** Where a comma follows, if one does. */
function commaAfter(text: string, { value }: PlacedField): number | undefined {
  const at = skipBlank(text, value.to)
  return text[at] === ',' ? at : undefined
}

const endOfLine = /(?:[ \t]*(?:\/\/[^\r\n]*|\/\*(?:(?!\*\/)[^\r\n])*\*\/))*/y

/** Behind the comments that end a line. */
function lineEnd(text: string, from: number): number {
  endOfLine.lastIndex = from
  endOfLine.exec(text)
  return endOfLine.lastIndex
}

/** Without the last field of that name. */
function cut(text: string, { from, to, fields }: Place, name: string): string {
  const index = fields.findLastIndex((field) => field.name === name)
  const field = fields[index] as PlacedField
  const before = fields[index - 1]
  const comma = commaAfter(text, field)
  const around = text.slice(from + 1, field.at) + text.slice((comma ?? field.value.to - 1) + 1, to - 1)
  if (around.trim() === '') return spliced(text, from, to, '{}')
  if (comma !== undefined) {
    const between = text.slice(field.value.to, comma)
    const kept = between.trim() === '' ? '' : between
    return tidied(spliced(text, field.at, comma + 1, kept), field.at)
  }
  const without = tidied(spliced(text, field.at, field.value.to, ''), field.at)
  const former = before && commaAfter(text, before)
  return former === undefined ? without : spliced(without, former, former + 1, '')
}

/** Without the line that nothing is left in, or the spaces that are left of it. */
function tidied(text: string, at: number): string {
  const from = text.lastIndexOf('\n', at - 1) + 1
  const end = text.indexOf('\n', at)
  const to = end < 0 ? text.length : end + 1
  if (from > 0 && text.slice(from, to).trim() === '') return spliced(text, from, to, '')
  const spaces = /^[ \t]*/.exec(text.slice(at))?.[0].length ?? 0
  return spliced(text, at, at + spaces, '')
}

function spliced(text: string, from: number, to: number, written: string): string {
  return `${text.slice(0, from)}${written}${text.slice(to)}`
}
