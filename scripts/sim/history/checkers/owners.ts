import type { Checker, Event, Facts, Violation } from '../history.js'

/** One program at a time has a session, and none has one that is over. */
export const owners: Checker = (history, facts) => {
  const books = new Books(facts)
  for (const [index, event] of history.entries()) books.take(event, index)
  return books.found
}

/** Since when a program has a session. */
interface Tenure {
  readonly program: string
  readonly index: number
}

class Books {
  readonly found: Violation[] = []
  readonly #facts: Facts
  readonly #owners = new Map<string, Tenure>()
  /** Who has let go of a session that nobody has taken since: what it was saving may still be taken. */
  readonly #leavers = new Map<string, string>()
  /** Sessions that were opened, and where. */
  readonly #opened = new Map<string, number>()
  readonly #ended = new Map<string, number>()
  /** Who runs it, also if somebody else has taken it meanwhile. */
  readonly #runs = new Map<string, Map<string, number>>()
  /** When a call was made, by its token. */
  readonly #invoked = new Map<string, number>()

  constructor(facts: Facts) {
    this.#facts = facts
  }

  take(event: Event, index: number): void {
    switch (event.type) {
      case 'opened': {
        const before = this.#opened.get(event.session)
        if (before !== undefined)
          this.#add('opened twice', `session ${event.session} was opened before`, [before, index])
        this.#opened.set(event.session, index)
        this.#begin(event.session, event.program, index)
        break
      }
      case 'restored':
        this.#begin(event.session, event.program, index)
        break
      case 'released':
        this.#runs.get(event.session)?.delete(event.program)
        if (this.#leave(event.session, event.program)) this.#leavers.set(event.session, event.program)
        break
      case 'ended':
        this.#leave(event.session, event.program)
        this.#leavers.delete(event.session)
        this.#ended.set(event.session, index)
        break
      case 'died':
        for (const programs of this.#runs.values()) programs.delete(event.program)
        for (const [session, { program }] of this.#owners)
          if (program === event.program) {
            this.#owners.delete(session)
            // an engine may be slow to do what it was asked
            if (this.#facts.owners === 'fenced') this.#leavers.set(session, program)
          }
        break
      case 'census':
        if (event.when === 'calm') this.#lookAt(event.program, index)
        break
      case 'invoke':
        this.#invoked.set(event.token, index)
        break
      case 'ran':
        if (event.session !== undefined && !this.#isOld(event.session, event.token))
          this.#use(event.session, event.program, index, 'ran')
        break
      case 'saved':
        this.#use(event.session, event.program, index, 'saved')
        break
    }
  }

  /** A former owner may not have heard yet that it is one: what it was asked before is of no use, and no harm. */
  #isOld(session: string, token: string): boolean {
    if (this.#facts.owners !== 'fenced') return false
    const since = this.#owners.get(session)?.index ?? Number.POSITIVE_INFINITY
    return (this.#invoked.get(token) ?? Number.POSITIVE_INFINITY) < since
  }

  #begin(session: string, program: string, index: number): void {
    const ended = this.#ended.get(session)
    if (ended !== undefined && this.#facts.ordered)
      this.#add('came back after its end', `session ${session} runs in ${program}`, [ended, index])
    const owner = this.#owners.get(session)
    if (owner !== undefined && owner.program === program)
      this.#add('begun twice', `session ${session} runs twice in ${program}`, [owner.index, index])
    else if (owner !== undefined && this.#facts.owners === 'exclusive')
      this.#add('two owners', `session ${session} runs in ${owner.program}, and now in ${program}`, [
        owner.index,
        index,
      ])
    this.#owners.set(session, { program, index })
    this.#leavers.delete(session)
    const programs = this.#runs.get(session) ?? new Map<string, number>()
    this.#runs.set(session, programs.set(program, index))
  }

  /** Nothing has been broken for a while: who has lost a session to somebody has heard of it. */
  #lookAt(program: string, index: number): void {
    for (const [session, programs] of this.#runs) {
      const begun = programs.get(program)
      const owner = this.#owners.get(session)
      if (begun === undefined || owner === undefined || owner.program === program) continue
      const proof = [begun, owner.index, index]
      this.#add('kept after its loss', `${program} runs session ${session}: ${owner.program} has it`, proof)
    }
  }

  #leave(session: string, program: string): boolean {
    return this.#owners.get(session)?.program === program && this.#owners.delete(session)
  }

  #use(session: string, program: string, index: number, what: 'ran' | 'saved'): void {
    if (!this.#facts.ordered || !this.#opened.has(session)) return
    const owner = this.#owners.get(session)
    if (owner?.program === program) return
    if (what === 'saved' && this.#leavers.get(session) === program) return
    // Whoever takes turns asks first, and may be overtaken before it runs; what the store takes tells.
    if (this.#facts.owners === 'turns' && what === 'ran') return
    const proof = owner === undefined ? [index] : [owner.index, index]
    const whose = owner === undefined ? 'nobody has it' : `${owner.program} has it`
    this.#add(`${what} without owning`, `${program} ${what} in session ${session}: ${whose}`, proof)
  }

  #add(kind: string, message: string, events: readonly number[]): void {
    this.found.push({ checker: 'owners', kind, message, events })
  }
}
