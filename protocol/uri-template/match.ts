import { operators, type Part, type TemplateValue, type VariableSpec } from './parts.js'

type FoundValues = Record<string, TemplateValue>

/** Where the rest of the template fits. */
interface Fits {
  /** 1 at each such position of the URI. */
  readonly at: Uint8Array
  /** The first and the last of them. */
  readonly first: number
  readonly last: number
}

/** A step of a template: takes characters, and may note their meaning. */
interface Step {
  /** The positions at which this step and the rest fit, given those at which the rest fits; undefined: nowhere. */
  fits(uri: string, rest: Fits): Fits | undefined
  /**
   * Where the step from `at` ends: it takes the most that lets the rest fit, notes it in `found`, or returns
   * -1.
   */
  take(uri: string, at: number, rest: Fits, found: FoundValues): number
}

/**
 * A matcher for the parts of a template. Where the rest fits is found from the end first, so the way forward
 * never backtracks: each step looks at each character once at most, and at none where nothing can fit.
 */
export function compileMatch(parts: readonly Part[]): (uri: string) => Readonly<FoundValues> | undefined {
  const steps = parts.flatMap(toSteps)
  const backwards = steps.toReversed()
  const [first] = parts
  const last = parts.at(-1)
  const literals = parts.filter((part) => typeof part === 'string')
  return (uri) => {
    if (typeof first === 'string' && !uri.startsWith(first)) return undefined
    if (typeof last === 'string' && !uri.endsWith(last)) return undefined
    // most templates have a word that is not there, which is found without a look at each character
    let from = 0
    for (const each of literals) {
      const found = uri.indexOf(each, from)
      if (found < 0) return undefined
      from = found + each.length
    }
    let fits: Fits | undefined = endOf(uri)
    const rests: Fits[] = []
    for (const step of backwards) {
      rests.push(fits)
      fits = step.fits(uri, fits)
      if (fits === undefined) return undefined
    }
    if (fits.first > 0) return undefined
    const found: FoundValues = {}
    let at = 0
    for (const step of steps) {
      at = step.take(uri, at, rests.pop() as Fits, found)
      if (at < 0) return undefined
    }
    return Object.freeze(found)
  }
}

function endOf({ length }: string): Fits {
  const at = new Uint8Array(length + 1)
  at[length] = 1
  return { at, first: length, last: length }
}

/** Undefined for none. */
function fitting(at: Uint8Array): Fits | undefined {
  const first = at.indexOf(1)
  return first < 0 ? undefined : { at, first, last: at.lastIndexOf(1) }
}

function toSteps(part: Part): Step[] {
  if (typeof part === 'string') return [literal(part)]
  const { operator, variables } = part
  const { first, separator, named, reserved } = operators[operator]
  if (named) return [params(first, separator, variables)]
  return variables.flatMap((variable, index) => {
    const before = index === 0 ? first : separator
    const step = variable.explode ? list(variable, separator, reserved) : text(variable, reserved)
    return before === '' ? [step] : [literal(before), step]
  })
}

function literal(wanted: string): Step {
  return {
    fits(uri, rest) {
      const fits = new Uint8Array(uri.length + 1)
      for (let end = rest.last; end >= rest.first && end >= wanted.length; end--)
        if (rest.at[end] === 1 && uri.startsWith(wanted, end - wanted.length)) fits[end - wanted.length] = 1
      return fitting(fits)
    },
    take: (_uri, at) => at + wanted.length,
  }
}

function text({ name, prefix = Number.POSITIVE_INFINITY }: VariableSpec, reserved: boolean): Step {
  return span(reserved ? anyCharacter : unreservedCharacter, prefix, (value, found) => {
    const decoded = decode(value)
    if (decoded !== undefined) found[name] = decoded
    return decoded !== undefined
  })
}

function list({ name }: VariableSpec, separator: string, reserved: boolean): Step {
  const isTaken = new Uint8Array(reserved ? anyCharacter : unreservedCharacter)
  isTaken[separator.charCodeAt(0)] = 1
  return span(isTaken, Number.POSITIVE_INFINITY, (value, found) => {
    const items = value.split(separator).map(decode)
    if (items.includes(undefined)) return false
    found[name] = Object.freeze(items as string[])
    return true
  })
}

/** One or more characters of a kind. */
function span(isTaken: Uint8Array, most: number, note: (value: string, found: FoundValues) => boolean): Step {
  return {
    fits: (uri, rest) => upTo(most, isTaken, uri, rest),
    take(uri, at, rest, found) {
      let end = -1
      let count = 0
      for (let next = at; next < rest.last && takes(isTaken, uri.charCodeAt(next)); next++) {
        count += countOf(uri, next)
        if (count > most) break
        if (rest.at[next + 1] === 1) end = next + 1
      }
      return end >= 0 && note(uri.slice(at, end), found) ? end : -1
    },
  }
}

function upTo(most: number, isTaken: Uint8Array, uri: string, rest: Fits): Fits | undefined {
  const fits = new Uint8Array(uri.length + 1)
  const isCounted = most < Number.POSITIVE_INFINITY
  let isReachable = false
  let distance = 0 // characters from here to the nearest place where the rest fits
  for (let at = rest.last - 1; at >= 0 && (isReachable || at + 1 >= rest.first); at--) {
    const isStart = rest.at[at + 1] === 1
    if (isCounted) distance = (isStart ? 0 : distance) + countOf(uri, at)
    isReachable = takes(isTaken, uri.charCodeAt(at)) && (isReachable || isStart)
    if (isReachable && distance <= most) fits[at] = 1
  }
  return fitting(fits)
}

/** Named values in any order, each optional: `{?a,b}`, `{&a}` and `{;a}`. */
function params(first: string, separator: string, variables: readonly VariableSpec[]): Step {
  const ends = first === ';' ? '/?#' : '#'
  const names = new Map(variables.map((variable) => [variable.name, variable]))
  const open = variables.find(({ explode }) => explode)
  return {
    fits(uri, rest) {
      // all are optional
      if (!uri.includes(first)) return rest
      const fits = new Uint8Array(rest.at)
      let isReachable = false
      for (let at = rest.last - 1; at >= 0 && (isReachable || at + 1 >= rest.first); at--) {
        const character = uri.charAt(at)
        isReachable = !ends.includes(character) && (isReachable || rest.at[at + 1] === 1)
        if (isReachable && character === first) fits[at] = 1
      }
      return fitting(fits)
    },
    take(uri, at, rest, found) {
      let end = rest.at[at] === 1 ? at : -1
      if (uri.charAt(at) === first)
        for (let next = at; next < rest.last && (next === at || !ends.includes(uri.charAt(next))); next++)
          if (rest.at[next + 1] === 1) end = next + 1
      if (end <= at) return end
      return noteParams(uri.slice(at + 1, end).split(separator), names, open, found) ? end : -1
    },
  }
}

/** False for a name that the template does not have, or that is there twice. */
function noteParams(
  fields: readonly string[],
  names: ReadonlyMap<string, VariableSpec>,
  open: VariableSpec | undefined,
  found: FoundValues,
): boolean {
  const others: Record<string, string> = {}
  for (const field of fields) {
    const sign = field.indexOf('=')
    const name = decode(sign < 0 ? field : field.slice(0, sign))
    const value = decode(sign < 0 ? '' : field.slice(sign + 1))
    if (name === undefined || value === undefined || name === '__proto__') return false
    const isNamed = names.get(name)?.explode === false
    if ((!isNamed && open === undefined) || Object.hasOwn(isNamed ? found : others, name)) return false
    if (isNamed) found[name] = value
    else others[name] = value
  }
  if (open !== undefined) found[open.name] = Object.freeze(others)
  return true
}

const unreservedCharacter = table((character) => !":/?#[]@!$&'()*+,;=".includes(character))
const anyCharacter = table(() => true)

/** Which ASCII characters are taken; control characters and the space never. */
function table(isTaken: (character: string) => boolean): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) =>
    code > 0x20 && code < 0x7f && isTaken(String.fromCharCode(code)) ? 1 : 0,
  )
}

function takes(isTaken: Uint8Array, code: number): boolean {
  return code < 128 ? isTaken[code] === 1 : true
}

/** 1 where a character of the text ends; 0 within its percent-encoded bytes or its surrogates. */
function countOf(uri: string, at: number): 0 | 1 {
  const code = uri.charCodeAt(at)
  if (code === percent) return /[89abAB]/.test(uri.charAt(at + 1)) ? 0 : 1
  const isDigit = uri.charCodeAt(at - 1) === percent || uri.charCodeAt(at - 2) === percent
  return isDigit || (code >= 0xdc00 && code < 0xe000) ? 0 : 1
}

const percent = 0x25

function decode(value: string): string | undefined {
  if (!value.includes('%')) return value
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined // a percent sign that encodes nothing
  }
}
