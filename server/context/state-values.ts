import { show } from '../../runtime/base/errors.js'
import { ServerError } from '../base/errors.js'

/** Throws BAD_STATE for what no value can be kept under. */
export function checkKey(key: unknown): string {
  if (typeof key === 'string' && key !== '') return key
  throw new ServerError('BAD_STATE', `key: expected a non-empty string, got ${show(key)}`)
}

/** What is kept is nobody else's. Throws BAD_STATE for what cannot be copied. */
export function copy(key: string, value: unknown): unknown {
  if (typeof value !== 'object' && typeof value !== 'function' && typeof value !== 'symbol') return value
  try {
    return structuredClone(value)
  } catch (cause) {
    const problem = `${show(key)}: session state takes values that can be copied (structuredClone), got ${show(value)}`
    throw new ServerError('BAD_STATE', problem, { cause, data: { key } })
  }
}
