/**
 * The system call in which the main thread waits for events. Others, such as `execSync`, wait in calls of
 * their own: it is the one that ends at once, several times, when the loop is asked to turn.
 */
export class RestingPlace {
  #place: string | undefined
  #times = 0

  is(place: string | undefined): boolean {
    return this.#times >= 3 && place === this.#place
  }

  learn(place: string | undefined): void {
    if (place === undefined || this.#times >= 3) return
    this.#times = place === this.#place ? this.#times + 1 : 1
    this.#place = place
  }
}
