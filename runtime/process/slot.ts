import type { ExitReason } from '../base/exit.js'
import type { Process } from './process.js'

/**
 * A place under a supervisor that outlives the processes that fill it. Names of a dead child wait here, in
 * the state `starting`, until the supervisor has decided: taken again by the next incarnation, or ended.
 */
export class Slot {
  readonly supervisor: Process
  /** False for a child that is never restarted: its names end with it. */
  returns: boolean
  /** Which start of the place each name has waited since. */
  #names: Map<string, number> | null = null
  #starts = 0

  constructor(supervisor: Process, returns: boolean) {
    this.supervisor = supervisor
    this.returns = returns
  }

  keep(name: string): void {
    this.#names ??= new Map()
    this.#names.set(name, this.#starts)
  }

  /** The place is about to be filled again: names that come from now on are those of the new incarnation. */
  fill(): void {
    this.#starts += 1
  }

  /**
   * The new incarnation is up: names of earlier ones that it did not take have ended; those that it lost
   * itself go on waiting.
   */
  settleEarlierNames(reason: ExitReason): void {
    for (const [name, start] of this.#names ?? []) {
      if (start === this.#starts) continue
      this.#names?.delete(name)
      this.supervisor.tree.registry.abandon(name, this, reason)
    }
  }

  /** The decision has fallen: whatever name nobody took again has ended. */
  settleNames(reason: ExitReason): void {
    const names = this.#take()
    for (const name of names) this.supervisor.tree.registry.abandon(name, this, reason)
  }

  /** The supervisor itself is gone: its own supervisor decides about the names, or nobody does. */
  passNamesUp(reason: ExitReason): void {
    const above = slotThatDecides(this.supervisor)
    if (above === null) return this.settleNames(reason)
    for (const name of this.#take()) this.supervisor.tree.registry.moveWait(name, this, above)
  }

  #take(): string[] {
    const names = [...(this.#names?.keys() ?? [])]
    this.#names = null
    return names
  }
}

/**
 * The nearest place above a dead process whose supervisor still lives and may start it, or what it was part
 * of, again.
 */
export function slotThatDecides(process: Process): Slot | null {
  let slot = placeOf(process)
  while (slot?.returns && slot.supervisor.reason !== null) slot = placeOf(slot.supervisor)
  return slot?.returns === true ? slot : null
}

/**
 * Where a process stands; one that no supervisor started stands where the parent stands that goes down with
 * it.
 */
function placeOf(process: Process): Slot | null {
  let at = process
  while (at.slot === null && at.parent?.goesDownWith(at)) at = at.parent
  return at.slot
}
