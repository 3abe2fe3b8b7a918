import type { FollowNews, FollowReport } from './stream-message.js'

type Wish = Extract<FollowReport, { readonly type: 'follow' }>

/**
 * A stream of another node that a client of this one takes up. It may be taken up anew, where its node has ended
 * meanwhile, or knows nothing of us any more: the client's connection goes on without noticing.
 */
export class Follow {
  readonly #wish: Wish
  /** The number of the last event that was told. */
  #position: number
  /** Whether the client has its answer, and gets events from now on. */
  #isTold = false
  /** Whether nothing was heard since it was asked for. */
  #isWaiting = true
  #deadline: number
  #search = 0
  /** Who was asked: another node, or this one once the stream is here. */
  place: string | undefined
  isOver = false

  constructor(wish: Wish, deadline: number) {
    this.#wish = wish
    this.#position = wish.after
    this.#deadline = deadline
  }

  get id(): string {
    return this.#wish.follow
  }

  get log(): string {
    return this.#wish.log
  }

  get sessionId(): string {
    return this.#wish.sessionId
  }

  get stream(): string {
    return this.#wish.stream
  }

  /** The request for the rest of the stream. */
  get report(): Wish {
    return { ...this.#wish, after: this.#position }
  }

  /** Starts another attempt, and answers its number. */
  search(deadline: number): number {
    this.place = undefined
    this.#isWaiting = true
    this.#deadline = deadline
    this.#search += 1
    return this.#search
  }

  /** Whether this attempt is still the last one. */
  isAt(search: number): boolean {
    return !this.isOver && this.#search === search
  }

  isLate(now: number): boolean {
    return this.#isWaiting && now >= this.#deadline
  }

  /** Answers the news for the client, if any, and whether to acknowledge it at once, so that more may come. */
  hear(news: FollowNews): readonly [FollowNews | undefined, boolean] {
    const wasTold = this.#isTold
    this.#isWaiting = false
    if (news.type === 'followed' || news.type === 'events') {
      const { events } = news
      this.#isTold = true
      this.#position = events.at(-1)?.number ?? this.#position
      this.isOver = events.at(-1)?.isLast === true
      if (!wasTold || news.type === 'events') return [news, false]
      if (events.length === 0) return [undefined, true]
      return [{ type: 'events', follow: this.id, events }, false]
    }
    this.isOver = true
    if (!wasTold || news.type === 'over') return [news, false]
    return [{ type: 'over', follow: this.id, isLost: false }, false]
  }
}
