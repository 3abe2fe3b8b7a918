import type { SessionRecord, SessionStore } from '../../../server/engine/session-store.js'
import type { Random } from '../../soak/random.js'
import { happens } from '../world/chance.js'
import type { Program } from '../world/program.js'

/** How the store behaves from now on. */
export interface DiskQuality {
  /** Shortest and longest ms of an operation. */
  readonly delay: readonly [number, number]
  /** Share of operations that fail before anything is done. */
  readonly fails: number
  /** Share of operations that are done, and then fail. */
  readonly loses: number
}

export const goodDisk: DiskQuality = { delay: [0.1, 3], fails: 0, loses: 0 }

/**
 * Records that outlive programs, behind a store that may be slow or fail. A record is saved as a whole or not at
 * all, as by a database, or by a file that takes the place of another one: that is what a store promises.
 */
export class Disk {
  readonly #records = new Map<string, string>()
  readonly #chance: Random
  quality = goodDisk

  constructor(chance: Random) {
    this.#chance = chance
  }

  get size(): number {
    return this.#records.size
  }

  /** The store as one program sees it. */
  storeOf(program: Program): SessionStore {
    return {
      load: (id) =>
        this.#do(program, () => {
          const text = this.#records.get(id)
          return text === undefined ? undefined : (JSON.parse(text) as SessionRecord)
        }),
      save: (record) => {
        const text = JSON.stringify(record)
        return this.#do(program, () => {
          const known = this.#records.get(record.id)
          if (known !== undefined && (JSON.parse(known) as SessionRecord).version > record.version) return
          this.#records.set(record.id, text)
        })
      },
      delete: (id) => this.#do(program, () => void this.#records.delete(id)),
    }
  }

  /** Half of the time goes by before it is done, half before the program hears of it. */
  #do<T>(program: Program, work: () => T): Promise<T> {
    const { delay, fails, loses } = this.quality
    const [low, high] = delay
    const ms = (low + this.#chance.next() * (high - low)) / 2
    const isRefused = happens(this.#chance, fails)
    const isLost = happens(this.#chance, loses)
    const isTooLate = happens(this.#chance, 0.5)
    return new Promise((resolve, reject) => {
      program.outside(ms, 'store works', () => {
        // it may have gone out before the program died
        if (program.phase === 'dead' && isTooLate) return
        if (isRefused)
          return void program.outside(ms, 'store refuses', () =>
            program.soon('store refused', () => reject(new Error('the disk is broken'))),
          )
        const value = work()
        program.outside(ms, 'store answers', () =>
          program.soon('store answered', () => {
            if (isLost) reject(new Error('the answer of the disk is lost'))
            else resolve(value)
          }),
        )
      })
    })
  }
}
