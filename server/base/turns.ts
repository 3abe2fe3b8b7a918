/** Work under one name runs one after the other, in the order it was given; names do not wait for each other. */
export class Turns {
  /** The last work under each name; never rejects. */
  readonly #last = new Map<string, Promise<void>>()

  /** Never at once, so that what is given is known before its turn. Settles as `work` does. */
  take<Answer>(name: string, work: () => Answer | Promise<Answer>): Promise<Answer> {
    const turn = (this.#last.get(name) ?? Promise.resolve()).then(work)
    const over: Promise<void> = turn.then(ignore, ignore).then(() => {
      if (this.#last.get(name) === over) this.#last.delete(name)
    })
    this.#last.set(name, over)
    return turn
  }
}

function ignore(): void {}
