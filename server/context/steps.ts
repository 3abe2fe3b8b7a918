import { AsyncLocalStorage } from 'node:async_hooks'
import { show } from '../../runtime/base/errors.js'
import { ServerError } from '../base/errors.js'

/**
 * Runs `fn` once under a key; rejects with what it threw, and with ServerError BAD_STATE for a key or a value
 * that cannot be kept.
 */
export type Once = <Value>(key: string, fn: () => Value | Promise<Value>) => Promise<Value>

/**
 * The finished steps of one call by their keys, each as the JSON of its value; undefined for a step without
 * one.
 */
export type FinishedSteps = ReadonlyMap<string, string | undefined>

interface Running {
  readonly text: Promise<string | undefined>
  readonly step: Step
}

interface Step {
  /** The step that it is part of. */
  readonly outer: Step | undefined
  /** Whether it waits for an answer of the client. */
  asks: boolean
}

/** Which step a piece of code belongs to. */
const within = new AsyncLocalStorage<Step>()

/** Says that the code at hand asks the client: the steps that it is part of do not end before the answer. */
export function noteQuestion(): void {
  for (let step = within.getStore(); step !== undefined; step = step.outer) step.asks = true
}

/**
 * The steps of one call: one that is finished does not run again, and its value is what its JSON says,
 * whoever asks and when.
 */
export class Steps {
  readonly #finished: Map<string, string | undefined>
  readonly #running = new Map<string, Running>()

  /** `finished`: the steps of earlier rounds. */
  constructor(finished: FinishedSteps = new Map()) {
    this.#finished = new Map(finished)
  }

  /** The steps that are finished by now. */
  get finished(): FinishedSteps {
    return this.#finished
  }

  /**
   * Resolves when the steps have ended that run now, unless they ask the client themselves; undefined when
   * there are none.
   */
  get settling(): Promise<unknown> | undefined {
    const running = [...this.#running.values()].filter(({ step }) => !step.asks)
    return running.length === 0 ? undefined : Promise.allSettled(running.map(({ text }) => text))
  }

  async once<Value>(key: string, fn: () => Value | Promise<Value>): Promise<Value> {
    if (typeof key !== 'string' || key === '')
      throw new ServerError('BAD_STATE', `once: key: expected a non-empty string, got ${show(key)}`)
    if (typeof fn !== 'function')
      throw new ServerError('BAD_STATE', `once: expected a function, got ${show(fn)}`)
    const text = this.#finished.has(key) ? this.#finished.get(key) : await this.#run(key, fn)
    return (text === undefined ? undefined : JSON.parse(text)) as Value
  }

  #run(key: string, fn: () => unknown): Promise<string | undefined> {
    const known = this.#running.get(key)
    if (known !== undefined) return known.text
    const step = { outer: within.getStore(), asks: false }
    const text = within.run(step, () => this.#finish(key, fn)).finally(() => this.#running.delete(key))
    this.#running.set(key, { text, step })
    return text
  }

  async #finish(key: string, fn: () => unknown): Promise<string | undefined> {
    const text = written(key, await fn())
    this.#finished.set(key, text)
    return text
  }
}

function written(key: string, value: unknown): string | undefined {
  if (value === undefined) return undefined
  try {
    const text: string | undefined = JSON.stringify(value)
    if (text !== undefined) return text
  } catch (cause) {
    throw noJson(key, value, cause)
  }
  throw noJson(key, value)
}

function noJson(key: string, value: unknown, cause?: unknown): ServerError {
  const problem = `once: ${show(key)}: expected a value that has JSON, got ${show(value)}`
  return new ServerError('BAD_STATE', problem, { cause, data: { key } })
}
