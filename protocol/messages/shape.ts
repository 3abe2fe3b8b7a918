import { isRequestId } from '../wire/jsonrpc.js'
import { isObject, kindOf } from '../wire/json.js'

/** Where a value is not what it should be. */
export interface Problem {
  /** Such as `.tools[2].name`; empty for the value itself. */
  readonly path: string
  readonly expected: string
  readonly got: string
}

/** Says what is wrong with a value, or undefined; costs nothing when all is well. */
export type Check = (value: unknown) => Problem | undefined

declare const described: unique symbol

/** A check of objects that stands for the type `T`. */
export interface Shape<T> {
  (value: unknown): Problem | undefined
  readonly [described]?: T
}

/** The type a shape stands for. */
export type Shaped<S> = S extends Shape<infer T> ? T : never

/** A string. */
export const text = kind('a string', (value) => typeof value === 'string')
/** A number; JSON knows no NaN, and 1e400 is read as Infinity. */
export const finite = kind('a number', Number.isFinite)
/** A boolean. */
export const flag = kind('true or false', (value) => typeof value === 'boolean')
/** An object, whatever its fields. */
export const record = kind('an object', isObject)
/** What may be a request id or a progress token. */
export const requestId = kind('a string or an integer', isRequestId)
/** Any value, but not none. */
export const present = kind('a value', (value) => value !== undefined)

/** The checks of an object's fields; fields without a check, and fields nobody knows, are let through. */
export function shape<T>(fields: { readonly [Field in keyof T]?: Check }): Shape<T> {
  const checks = Object.entries(fields) as [string, Check][]
  return (value) => {
    if (!isObject(value)) return mismatch('an object', value)
    for (const [field, check] of checks) {
      const problem = check(value[field])
      if (problem !== undefined) return { ...problem, path: `.${field}${problem.path}` }
    }
    return undefined
  }
}

/** The same shape for a field that may be absent. */
export function optional(check: Check): Check {
  return (value) => (value === undefined ? undefined : check(value))
}

/** An array whose every element passes. */
export function listOf(check: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) return mismatch('an array', value)
    for (const [index, element] of value.entries()) {
      const problem = check(element)
      if (problem !== undefined) return { ...problem, path: `[${index}]${problem.path}` }
    }
    return undefined
  }
}

/** An object whose every value passes, whatever its keys. */
export function recordOf(check: Check): Check {
  return (value) => {
    if (!isObject(value)) return mismatch('an object', value)
    for (const [key, element] of Object.entries(value)) {
      const problem = check(element)
      if (problem !== undefined) return { ...problem, path: `[${showKey(key)}]${problem.path}` }
    }
    return undefined
  }
}

/** One of a few words. */
export function oneOf(...words: readonly string[]): Check {
  return kind(`one of ${words.join(', ')}`, (value) => words.includes(value as string))
}

/** The far side chose the key, so it may be as long as its message. */
function showKey(key: string): string {
  return JSON.stringify(key.length > 40 ? `${key.slice(0, 40)}...` : key)
}

function kind(expected: string, test: (value: unknown) => boolean): Check {
  return (value) => (test(value) ? undefined : mismatch(expected, value))
}

function mismatch(expected: string, value: unknown): Problem {
  return { path: '', expected, got: kindOf(value) }
}
