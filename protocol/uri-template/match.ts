import { operators, type Part, type TemplateValue, type VariableSpec } from './parts.js'

type FoundValues = Record<string, TemplateValue>

/** 1 at each position of the URI from which the rest of the template fits. */
type Fits = Uint8Array

/** A step of a template: takes characters, and may note their meaning. */
interface Step {
  /** The positions at which this step and the rest fit, given those at which the rest fits. */
  fits(uri: string, rest: Fits): Fits
  /**
   * Where the step from `at` ends: it takes the most that lets the rest fit, notes it in `found`, or returns
   * -1.
   */
  take(uri: string, at: number, rest: Fits, found: FoundValues): number
}

/**
 * A matcher for the parts of a template. Where the rest fits is found from the end first, so the way forward
 * never backtracks: each step looks at each character once.
 */
export function compileMatch(parts: readonly Part[]): (uri: string) => Readonly<FoundValues> | undefined {
  const steps = parts.flatMap(toSteps)
  const [first] = parts
  const last = parts.at(-1)
  return (uri) => {
    if (typeof first === 'string' && !uri.startsWith(first)) return undefined
    if (typeof last === 'string' && !uri.endsWith(last)) return undefined
    const end = new Uint8Array(uri.length + 1)
    end[uri.length] = 1
    const rests: Fits[] = [end]
    for (const step of steps.toReversed()) rests.push(step.fits(uri, rests.at(-1) ?? end))
    if (rests.pop()?.[0] !== 1) return undefined
    const found: FoundValues = {}
    let at = 0
    for (const step of steps) {
      at = step.take(uri, at, rests.pop() ?? end, found)
      if (at < 0) return undefined
    }
    return Object.freeze(found)
  }
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
  const first = wanted.charCodeAt(0)
  return {
    fits(uri, rest) {
      const fits = new Uint8Array(uri.length + 1)
      for (let at = uri.length - wanted.length; at >= 0; at--) {
        const isThere = rest[at + wanted.length] === 1 && uri.charCodeAt(at) === first
        if (isThere && (wanted.length === 1 || uri.startsWith(wanted, at))) fits[at] = 1
      }
      return fits
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
    fits: (uri, rest) =>
      most === Number.POSITIVE_INFINITY ? anyLength(isTaken, uri, rest) : upTo(most, isTaken, uri, rest),
    take(uri, at, rest, found) {
      let end = -1
      let count = 0
      for (let next = at; next < uri.length && takes(isTaken, uri.charCodeAt(next)); next++) {
        count += countOf(uri, next)
        if (count > most) break
        if (rest[next + 1] === 1) end = next + 1
      }
      return end >= 0 && note(uri.slice(at, end), found) ? end : -1
    },
  }
}

function anyLength(isTaken: Uint8Array, uri: string, rest: Fits): Fits {
  const fits = new Uint8Array(uri.length + 1)
  let isReachable = 0
  for (let at = uri.length - 1; at >= 0; at--) {
    isReachable = takes(isTaken, uri.charCodeAt(at)) ? isReachable | (rest[at + 1] ?? 0) : 0
    fits[at] = isReachable
  }
  return fits
}

function upTo(most: number, isTaken: Uint8Array, uri: string, rest: Fits): Fits {
  const fits = new Uint8Array(uri.length + 1)
  let isReachable = false
  let distance = 0 // characters from here to the nearest place where the rest fits
  for (let at = uri.length - 1; at >= 0; at--) {
    if (rest[at + 1] === 1) distance = 0
    distance += countOf(uri, at)
    isReachable = takes(isTaken, uri.charCodeAt(at)) && (isReachable || rest[at + 1] === 1)
    if (isReachable && distance <= most) fits[at] = 1
  }
  return fits
}

/** Named values in any order, each optional: `{?a,b}`, `{&a}` and `{;a}`. */
function params(first: string, separator: string, variables: readonly VariableSpec[]): Step {
  const ends = first === ';' ? '/?#' : '#'
  const names = new Map(variables.map((variable) => [variable.name, variable]))
  const open = variables.find(({ explode }) => explode)
  return {
    fits(uri, rest) {
      const fits = new Uint8Array(rest)
      let isReachable = false
      for (let at = uri.length - 1; at >= 0; at--) {
        const character = uri.charAt(at)
        if (ends.includes(character)) isReachable = false
        else {
          if (rest[at + 1] === 1) isReachable = true
          if (isReachable && character === first) fits[at] = 1
        }
      }
      return fits
    },
    take(uri, at, rest, found) {
      let end = rest[at] === 1 ? at : -1
      if (uri.charAt(at) === first)
        for (let next = at; next < uri.length && (next === at || !ends.includes(uri.charAt(next))); next++)
          if (rest[next + 1] === 1) end = next + 1
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
