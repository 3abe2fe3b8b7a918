import { TurnoverMap } from '../../runtime/base/turnover.js'
import { isNear, shareOf } from './network.js'

/** What is at work, of which one caller has its share at most. Those who are near and unknown have none. */
export class Places {
  readonly #limit: number
  readonly #share: number
  readonly #of = new TurnoverMap<string, number>()
  #taken = 0

  constructor(limit: number) {
    this.#limit = limit
    this.#share = shareOf(limit)
  }

  /** Whether there is one for somebody. */
  get isFull(): boolean {
    return this.#taken >= this.#limit
  }

  hasItsShare(caller: string): boolean {
    return this.leftOf(caller) <= 0
  }

  /** How many more its share allows. */
  leftOf(caller: string): number {
    return isNear(caller) ? this.#limit : this.#share - (this.#of.get(caller) ?? 0)
  }

  take(caller: string): void {
    this.#taken += 1
    if (!isNear(caller)) this.#of.set(caller, (this.#of.get(caller) ?? 0) + 1)
  }

  giveBack(caller: string): void {
    this.#taken -= 1
    const left = (this.#of.get(caller) ?? 0) - 1
    if (left > 0) this.#of.set(caller, left)
    else this.#of.delete(caller)
  }
}
