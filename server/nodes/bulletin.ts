import type { ClusterNews } from '../cluster/cluster.js'
import type { Engine } from '../engine/engine.js'
import type { Seal } from './seal.js'
import { isUnavailable } from './unavailable.js'

export interface BulletinInput {
  readonly node: string
  readonly seal: Seal
  readonly engine: () => Engine | undefined
  readonly hear: (news: ClusterNews) => void
}

/** News that may wait here until they are told; more, and everything may have changed. */
const maxUntold = 100

/** Changes that all nodes are told of, by number: what a node has missed, it learns of. */
export class Bulletin {
  readonly #input: BulletinInput
  /** The number of the last news that was heard; undefined before the first beat. */
  #last: number | undefined
  #untold: ClusterNews[] = []
  #isTelling = false
  #isReading = false

  constructor(input: BulletinInput) {
    this.#input = input
  }

  /** Tells the others, later if the engine cannot be reached. */
  publish(news: ClusterNews): void {
    if (this.#untold.length >= maxUntold) this.#untold = [{ type: 'anything' }]
    this.#untold.push(news)
    void this.tell()
  }

  /** Tells what is still untold. */
  async tell(): Promise<void> {
    const { node, seal } = this.#input
    if (this.#isTelling) return
    this.#isTelling = true
    try {
      for (;;) {
        const engine = this.#input.engine()
        const [news] = this.#untold
        if (news === undefined || engine?.isUp !== true) return
        await engine.publish(seal.close({ kind: 'news' }, JSON.stringify([node, news])))
        // it may stand for more than what was told, by now
        if (this.#untold[0] === news) this.#untold.shift()
      }
    } catch (error) {
      // told again at the next beat: hearing of a change twice does no harm
      if (!isUnavailable(error)) throw error
    } finally {
      this.#isTelling = false
    }
  }

  /** There are news up to this number. */
  async catchUp(last: number): Promise<void> {
    if (this.#last === undefined) this.#last = last
    else if (last > this.#last) await this.read()
    void this.tell()
  }

  /** The engine has lost something: whatever was published may be in it. */
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
