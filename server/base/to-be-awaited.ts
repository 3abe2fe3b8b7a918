import { ServerError } from './errors.js'

/** A promise says so where it is taken for its value: as text, and as JSON. */
export function toBeAwaited<Value>(name: keyof typeof unawaited, promise: Promise<Value>): Promise<Value> {
  return Object.defineProperties(promise, unawaited[name])
}

const unawaited = Object.freeze({
  get: missingAwait('get'),
  update: missingAwait('update'),
  elicit: missingAwait('elicit'),
  sample: missingAwait('sample'),
  once: missingAwait('once'),
})

function missingAwait(name: string): PropertyDescriptorMap {
  function value(this: Promise<unknown>): never {
    this.catch(() => undefined) // this says what was wrong
    throw new ServerError('BAD_RESULT', `ctx.${name}(...) is a promise, and was used as a value: await it`)
  }
  return { [Symbol.toPrimitive]: { value }, toJSON: { value } }
}
