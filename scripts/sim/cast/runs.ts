import type { ToolContext } from '../../../index.js'
import type { Operation } from '../history/history.js'
import type { Program } from '../world/program.js'
import type { Stage } from './stage.js'

/** What handlers answer, as text: who asks reads it again. */
export interface Answer {
  readonly value?: string
  readonly list?: string
  readonly elements?: readonly string[]
  /** Makes it long. */
  readonly filling?: string
}

/** Tells the client something before the answer. */
export type Tell = (kind: 'progress' | 'log') => void

interface Parts {
  readonly stage: Stage
  readonly name: string
  readonly program: Program
  readonly hooks: boolean
}

/** The runs of the handlers of one program. */
export class Runs {
  readonly #parts: Parts
  #count = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Runs the body of a handler as a run of the history; its answer as text. */
  async text(
    given: { readonly token: string; readonly operation: Operation },
    ctx: ToolContext,
    body: (tell: Tell) => Answer | Promise<Answer>,
  ): Promise<string> {
    const { stage, name, program, hooks } = this.#parts
    const { recorder } = stage
    this.#count += 1
    const run = `${name} ${program.incarnation} ${this.#count}`
    const { id } = ctx.session
    const { principal } = ctx
    if (hooks && id !== undefined && ctx.assigns.begun !== id)
      stage.broken(`${given.token} runs in session ${id} with what is assigned to ${ctx.assigns.begun}`)
    recorder.add({
      type: 'ran',
      program: name,
      run,
      ...given,
      ...(id !== undefined && { session: id }),
      ...(principal !== undefined && { principal: principal.subject }),
    })
    try {
      const answer = await body(this.#teller(run, given.token, ctx))
      const { value } = answer
      recorder.add({ type: 'ranTo', program: name, run, end: 'ok', ...(value !== undefined && { value }) })
      return JSON.stringify(answer)
    } catch (error) {
      recorder.add({ type: 'ranTo', program: name, run, end: ctx.signal.aborted ? 'aborted' : 'error' })
      throw error
    }
  }

  #teller(run: string, token: string, ctx: ToolContext): Tell {
    const { stage, name, program } = this.#parts
    const { id } = ctx.session
    const sequences = { log: 0, progress: 0 }
    return (kind) => {
      const sequence = sequences[kind] + 1
      // it grows from one run of a call to the next
      const { now } = program.simulator
      const text = `${token} ${run} ${kind} ${sequence}`
      const hasWords = kind === 'log' || ctx.session.revision !== '2024-11-05'
      const payload = hasWords ? text : wordless(now)
      if (!(kind === 'log' ? ctx.log('info', text) : ctx.progress(now, undefined, text))) return
      sequences[kind] = sequence
      stage.recorder.add({
        type: 'emitted',
        program: name,
        // who no longer waits for an answer hears of logs alone
        stream: `${run} ${kind}`,
        sequence,
        kind,
        payload,
        token,
        ...(id !== undefined && { session: id }),
      })
    }
  }
}

/** What stands for the message of a progress, which 2024-11-05 does not have. */
export function wordless(progress: number): string {
  return `progress ${progress}`
}

/** Waits by the clock of the program; rejects when the signal aborts. */
export function pause({ world }: Program, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const give = (): void => {
      world.clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = world.setTimeout(() => {
      signal.removeEventListener('abort', give)
      resolve()
    }, ms)
    signal.addEventListener('abort', give, { once: true })
  })
}
