import type { ClusterNews } from '../cluster/cluster.js'
import type { Engine } from '../engine/engine.js'
import type { Seal } from './seal.js'
import { isUnavailable } from './unavailable.js'

interface NewsFeedInput {
  readonly node: string
  readonly seal: Seal
  readonly engine: () => Engine | undefined
  readonly hear: (news: ClusterNews) => void
}

/** News that may wait here; beyond it they become one: anything may have changed. */
const maxUnsent = 100

/** News to all nodes, by number: a gap is noticed, and reported as a change of anything. */
export class NewsFeed {
  readonly #input: NewsFeedInput
  /** The number of the last news that was read; undefined before the first beat. */
  #last: number | undefined
  #unsent: ClusterNews[] = []
  #isSending = false
  #isReading = false

  constructor(input: NewsFeedInput) {
    this.#input = input
  }

  /** Sends it to the others, later if the engine cannot be reached. */
  publish(news: ClusterNews): void {
    if (this.#unsent.length >= maxUnsent) this.#unsent = [{ type: 'anything' }]
    this.#unsent.push(news)
    void this.flush()
  }

  /** Sends what waits. */
  async flush(): Promise<void> {
    const { node, seal } = this.#input
    if (this.#isSending) return
    this.#isSending = true
    try {
      for (;;) {
        const engine = this.#input.engine()
        const [news] = this.#unsent
        if (news === undefined || engine?.isUp !== true) return
        await engine.publish(seal.close({ kind: 'news' }, JSON.stringify([node, news])))
        // `publish` may have replaced it meanwhile by news of anything
        if (this.#unsent[0] === news) this.#unsent.shift()
      }
    } catch (error) {
      // sent again at the next beat: to hear of a change twice does no harm
      if (!isUnavailable(error)) throw error
    } finally {
      this.#isSending = false
    }
  }

  /** `last` is the number of the newest news. */
  async catchUp(last: number): Promise<void> {
    if (this.#last === undefined) this.#last = last
    else if (last > this.#last) await this.read()
    void this.flush()
  }

  /** The engine has lost data, and perhaps news: anything may have changed. */
  restart(last: number): void {
    this.#last = last
    this.#input.hear({ type: 'anything' })
  }

  async read(): Promise<void> {
    const { hear } = this.#input
    const engine = this.#input.engine()
    if (this.#last === undefined || this.#isReading || engine?.isUp !== true) return
    this.#isReading = true
    try {
      const { texts, last, isGap } = await engine.news(this.#last)
      this.#last = Math.max(this.#last, last)
      if (isGap) hear({ type: 'anything' })
      else for (const text of texts) this.#open(text)
    } catch (error) {
      if (!isUnavailable(error)) throw error
    } finally {
      this.#isReading = false
    }
  }

  #open(text: string): void {
    const { node, seal, hear } = this.#input
    const read = seal.open({ kind: 'news' }, text, readNews)
    if (read !== undefined && read.from !== node) hear(read.news)
  }
}

function readNews(text: string): { readonly from: unknown; readonly news: ClusterNews } {
  const [from, news] = JSON.parse(text)
  return { from, news }
}
