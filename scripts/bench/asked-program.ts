import { type ChildProcess, fork } from 'node:child_process'

interface Told<Answer> {
  readonly id: number
  readonly value: Answer
  readonly problem?: string
}

/** A program of this bench that answers questions. */
export class AskedProgram {
  readonly #child: ChildProcess
  #last = 0

  /** `url` is of a module that calls `answer`. */
  constructor(url: URL, ...args: string[]) {
    this.#child = fork(url, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#child.setMaxListeners(100)
  }

  get pid(): number {
    return Number(this.#child.pid)
  }

  /** Rejects when the program cannot answer, or ends. */
  ask<Answer>(question: string, input?: object): Promise<Answer> {
    this.#last += 1
    const id = this.#last
    return new Promise((resolve, reject) => {
      const over = (): void => reject(new Error(`the program that was asked for ${question} has ended`))
      const hear = ({ id: of, value, problem }: Told<Answer>): void => {
        if (of !== id) return
        this.#child.off('exit', over).off('message', hear)
        if (problem === undefined) resolve(value)
        else reject(new Error(`${question}: ${problem}`))
      }
      this.#child.once('exit', over).on('message', hear)
      this.#child.send({ id, question, input })
    })
  }

  end(): void {
    this.#child.disconnect()
  }
}

interface Question {
  readonly id: number
  readonly question: string
  readonly input: never
}

/** Answers the program that has started this one, and ends with it. */
export function answer(answers: Readonly<Record<string, (input: never) => unknown>>): void {
  process.once('disconnect', () => process.exit())
  process.on('message', async ({ id, question, input }: Question) => {
    try {
      process.send?.({ id, value: await answers[question]?.(input) })
    } catch (error) {
      process.send?.({ id, problem: error instanceof Error ? error.stack : String(error) })
    }
  })
}
