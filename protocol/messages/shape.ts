import { isRequestId, type RequestId } from '../wire/jsonrpc.js'
import { isObject, type JsonObject, kindOf } from '../wire/json.js'

/** Where a value is not what it should be. */
export interface Problem {
  /** Such as `.tools[2].name`; empty for the value itself. */
  readonly path: string
  readonly expected: string
  readonly got: string
}

declare const described: unique symbol

/**
 * Says what is wrong with a value; undefined, which costs nothing, when it is a `T`. A plain function passes
 * for a check of any type.
 */
export interface Check<T = unknown> {
  (value: unknown): Problem | undefined
  readonly [described]?: T
}

/** The type of the values that pass. */
export type Checked<C> = C extends Check<infer T> ? T : never

/** A check for every field of `T`, so that neither can change without the other. */
type Fields<T> = {
  readonly [F in keyof T]-?: Check<Record<never, never> extends Pick<T, F> ? T[F] | undefined : T[F]>
}

export const text = kind<string>('a string', (value) => typeof value === 'string')
/** A number; JSON knows no NaN, and 1e400 is read as Infinity. */
export const finite = kind<number>('a number', Number.isFinite)
export const flag = kind<boolean>('true or false', (value) => typeof value === 'boolean')
/** An object; its fields are not checked, whatever its type says of them. */
export const record = kind<never>('an object', isObject)
/** What may be a request id or a progress token. */
export const requestId = kind<RequestId>('a string or an integer', isRequestId)
/** Any value but undefined. */
export const present = kind<unknown>('a value', (value) => value !== undefined)
/** For fields that are not checked, whatever their type says. */
export const unchecked: Check<never> = () => undefined

/** The checks of an object's fields; fields nobody knows are let through. */
export function shape<T>(fields: Fields<T>): Check<T> {
  const checks = Object.entries<Check>(fields).filter(([, check]) => check !== unchecked)
  return (value) => {
    if (!isObject(value)) return mismatch('an object', value)
    for (const [field, check] of checks) {
      const problem = check(value[field])
      if (problem !== undefined) return { ...problem, path: `.${field}${problem.path}` }
    }
    return undefined
  }
}

/** The same check for a field that may be absent. */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value) => (value === undefined ? undefined : check(value))
}

/** An array whose every element passes. */
export function listOf<T>(check: Check<T>): Check<T[]> {
  return (value) => {
    if (!Array.isArray(value)) return mismatch('an array', value)
    for (const [index, element] of value.entries()) {
      const problem = check(element)
      if (problem !== undefined) return { ...problem, path: `[${index}]${problem.path}` }
    }
    return undefined
  }
}

/** An object whose every value passes, whatever its keys; no more than `most` of them are looked at. */
export function recordOf<T>(check: Check<T>, most = Number.POSITIVE_INFINITY): Check<Record<string, T>> {
  return (value) => {
    if (!isObject(value)) return mismatch('an object', value)
    const keys = Object.keys(value)
    if (keys.length > most) return mismatch(`an object with ${most} keys at most`, value)
    for (const key of keys) {
      const problem = check(value[key])
      if (problem !== undefined) return { ...problem, path: `[${showKey(key)}]${problem.path}` }
    }
    return undefined
  }
}

export function oneOf<const Word extends string>(...words: readonly Word[]): Check<Word> {
  return kind(`one of ${words.join(', ')}`, (value) => words.includes(value as Word))
}

/** The check of a union: `choose` gets the value, or `{}` where it is no object. */
export function chosen<T>(choose: (value: JsonObject) => Check<T>): Check<T> {
  return (value) => choose(isObject(value) ? value : {})(value)
}

/** The same check for a narrower type: values of peers beyond the type pass. */
export function loose(check: Check): Check<never> {
  return check as Check<never>
}

/** The far side chose the key, so it may be as long as its message. */
function showKey(key: string): string {
  return JSON.stringify(key.length > 40 ? `${key.slice(0, 40)}...` : key)
}

/** A check that says what it expected, and the kind of what it got. */
export function kind<T>(expected: string, test: (value: unknown) => boolean): Check<T> {
  return (value) => (test(value) ? undefined : mismatch(expected, value))
}

function mismatch(expected: string, value: unknown): Problem {
  return { path: '', expected, got: kindOf(value) }
}
