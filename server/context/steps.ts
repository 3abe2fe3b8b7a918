import { AsyncLocalStorage } from 'node:async_hooks'
import { show } from '../../runtime/base/errors.js'
import { ServerError } from '../base/errors.js'
import { jsonText } from '../base/json-text.js'

/** Runs `fn` once under a key. Rejects with what it threw, and with BAD_STATE for a bad key or value. */
export type Once = <Value>(key: string, fn: () => Value | Promise<Value>) => Promise<Value>

/** The finished steps of one call: the JSON of their values by key; undefined for a step without a value. */
export type FinishedSteps = ReadonlyMap<string, string | undefined>

type Keep = (key: string, text: string | undefined) => Promise<void>

interface Running {
  readonly text: Promise<string | undefined>
  readonly step: Step
}

interface Step {
  readonly outer: Step | undefined
  asks: boolean
}

const within = new AsyncLocalStorage<Step>()

/** The running code asks the client: the steps that it is part of do not end before the answer. */
export function noteQuestion(): void {
  for (let step = within.getStore(); step !== undefined; step = step.outer) step.asks = true
}

/** The steps of one call: a finished one does not run again, and its value is always read from its JSON. */
export class Steps {
  readonly #finished: Map<string, string | undefined>
  readonly #running = new Map<string, Running>()
  readonly #keep: Keep | undefined
  #isResting = false

  /** `keep` stores a finished step, which counts only then. */
  constructor(finished: FinishedSteps = new Map(), keep?: Keep) {
    this.#finished = new Map(finished)
    this.#keep = keep
  }

  get finished(): FinishedSteps {
    return this.#finished
  }

  /** Resolves when the running steps have ended, except those that ask the client; undefined without any. */
  get settling(): Promise<unknown> | undefined {
    const running = [...this.#running.values()].filter(({ step }) => !step.asks)
    return running.length === 0 ? undefined : Promise.allSettled(running.map(({ text }) => text))
  }

  /** No step begins any more, but within one that runs: who asks for one waits until its call is ended. */
  rest(): Promise<unknown> | undefined {
    this.#isResting = true
    return this.settling
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
    if (this.#isResting && within.getStore() === undefined) return new Promise(() => {})
    const step = { outer: within.getStore(), asks: false }
    const text = within.run(step, () => this.#finish(key, fn)).finally(() => this.#running.delete(key))
    this.#running.set(key, { text, step })
    return text
  }

  async #finish(key: string, fn: () => unknown): Promise<string | undefined> {
    const value = await fn()
    const text = value === undefined ? undefined : stepText(key, value)
    if (this.#keep !== undefined) await this.#keep(key, text)
    this.#finished.set(key, text)
    return text
  }
}

export function stepText(key: string, value: unknown): string {
  return jsonText(value, (cause) => {
    const problem = `once: ${show(key)}: expected a value that has JSON, got ${show(value)}`
    return new ServerError('BAD_STATE', problem, { cause, data: { key } })
  })
}
