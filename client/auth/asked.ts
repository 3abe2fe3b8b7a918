import { authFailed } from './failure.js'

/** How often somebody may be asked within so many ms, for one server. */
const limits = [
  { most: 5, ms: 600_000, time: '10 minutes' },
  { most: 50, ms: 86_400_000, time: 'a day' },
] as const

/** When somebody was asked to sign in at one server: a server that always wants more opens no page after page. */
export class AskedTimes {
  #times: number[] = []

  /** Counts one more. Throws AUTHORIZATION_FAILED where that is too much. */
  add(now: number): void {
    this.#times = this.#times.filter((time) => now - time < Math.max(...limits.map(({ ms }) => ms)))
    for (const { most, ms, time } of limits) {
      const recent = this.#times.filter((asked) => now - asked < ms)
      const [oldest] = recent
      if (oldest === undefined || recent.length < most) continue
      const seconds = Math.ceil((oldest + ms - now) / 1_000)
      throw authFailed(
        `somebody had to sign in ${most} times within ${time}, and is not asked again for ${seconds} s`,
      )
    }
    this.#times.push(now)
  }

  /** Somebody has signed out on purpose. */
  clear(): void {
    this.#times = []
  }
}
