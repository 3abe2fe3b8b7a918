/** A queue with a moving head: `Array.shift` costs its length. It is compacted when half is spent. */
export class Mailbox<Message> {
  #items: (Message | undefined)[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(message: Message): void {
    this.#items.push(message)
  }

  shift(): Message | undefined {
    const items = this.#items
    if (this.#head === items.length) return undefined
    const message = items[this.#head]
    items[this.#head++] = undefined
    if (this.#head === items.length) {
      this.#head = 0
      if (items.length > keep) this.#items = []
      else items.length = 0
    } else if (this.#head > 1024 && this.#head * 2 > items.length) {
      this.#items = items.slice(this.#head)
      this.#head = 0
    }
    return message
  }

  drain(): Message[] {
    const left = this.#items.slice(this.#head) as Message[]
    this.#items = []
    this.#head = 0
    return left
  }
}

/** A larger backing array is given back once it is empty. */
const keep = 64
