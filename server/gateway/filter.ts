import type { UpstreamOptions } from '../definitions/gateway-options.js'
import { fits, isOfScheme, isTemplate, likeTemplate, patternOf, schemesOf } from './names.js'
import { folded, mostText, readingsOfPattern, readingsWithin, sameAs, unqualified } from './readings.js'

/** What `allow` and `deny` of a server say. */
export interface Filter {
  /** Whether they say nothing of addresses. */
  readonly isOpen: boolean
  /**
   * Whether what a caller has written can be judged. Where addresses are denied, one of a scheme that neither
   * these patterns nor the lists of the server have (`listed`) cannot: a server that takes no notice of schemes
   * may read it as one of those. Nor can one without a scheme.
   */
  judges(uri: string, listed: ReadonlySet<string>): boolean
  /**
   * Whether what is denied depends on the templates of the server: with a `*` that may stand for a part of
   * one.
   */
  readonly needsTemplates: boolean
  /**
   * Whether an entry of a list is offered, by what the server calls it. One that is not judged for its cost is
   * not, until another round.
   */
  offers(own: string): boolean
  /** Begins another round of judging a list. */
  renew(): void
  /** Entries that were not judged in this round. */
  readonly unjudged: number
  /** Whether one of these is denied: addresses as a caller has written them, in each reading. */
  denies(names: readonly string[]): boolean
  /**
   * Whether what a caller has written is allowed: as it is, and in each reading. What `fitting` templates
   * offer that are allowed is, too, if no reading leads out of them.
   */
  allows(uri: string, readings: readonly string[], fitting: readonly string[]): boolean
}

/** Fits a template only if it fits each address of it: `delete_*`, `user:1`. */
const standsAlone = /^(?:[^*{}]*|[\w.-]*\*)$/

/** Fits no address, however that is read. */
const isName = /^[\w.-]*$/

/** Characters of all readings of what is judged in one round: it holds up everybody. */
const mostRead = 8 << 20

/** Entries whose verdict is kept: all of the longest lists. */
const maxJudged = 50_000

/**
 * Reads the patterns once. A reading is denied by a pattern however that is written; a pattern is never
 * widened. One that can be written in too many ways denies all addresses, and allows what it fits as it is.
 */
export function filterOf({ allow, deny = [] }: UpstreamOptions): Filter {
  // whoever denies `db://ada@users/*` does not deny `db://users/*`
  const written = deny.map((pattern) => sameAs(pattern))
  const deniesAll = written.includes(undefined)
  const denied = [...new Set(written.flatMap((each) => each ?? []).map(folded))]
  // with all that fits them, whether or not the server lists them now
  const templates = denied.filter((pattern) => isTemplate(pattern)).map((each) => likeTemplate(each))
  const allowed = [...new Set(allow?.flatMap(asRead))]
  const denies = (names: readonly string[]): boolean => {
    if (deny.length === 0) return false
    return names.some((name) => {
      if (fits(name, deny)) return true
      if (!name.includes(':')) return false
      const text = folded(name)
      return deniesAll || fits(text, denied) || templates.some((isLike) => isLike(text))
    })
  }
  const judged = new Map<string, boolean>()
  let read = 0
  let unjudged = 0
  const deniesAddresses = schemesOf(deny).size > 0
  const schemes = schemesOf([...deny, ...(allow ?? [])])
  const areNames = deny.every((pattern) => isName.test(pattern))
  const judge = (own: string): boolean => {
    if (areNames) return !denies([own])
    // of a gateway further in the second server with an address has it behind its name
    const readings = readingsWithin(own)
    read += readings?.reduce((sum, { length }) => sum + length, 0) ?? mostText
    return readings !== undefined && !denies(readings)
  }
  const offers = (own: string): boolean => {
    if (allow !== undefined && !fits(own, allow)) return false
    if (deny.length === 0) return true
    let isOffered = judged.get(own)
    if (isOffered === undefined) {
      if (read > mostRead) {
        unjudged += 1
        return false
      }
      isOffered = judge(own)
      // the entries of a list are asked about each time that the lists change
      if (judged.size >= maxJudged) judged.clear()
      judged.set(own, isOffered)
    }
    return isOffered
  }
  return {
    isOpen: allow === undefined && areNames,
    judges: (uri, listed) => !deniesAddresses || isOfScheme(uri, schemes) || isOfScheme(uri, listed),
    needsTemplates: !deny.every((pattern) => standsAlone.test(pattern)),
    offers,
    renew() {
      read = unjudged = 0
    },
    get unjudged() {
      return unjudged
    },
    denies(names) {
      if (deny.length === 0) return false
      const others = names.filter((name) => name.includes(':')).map(unqualified)
      return others.includes(undefined) || denies([...names, ...others.flatMap((each) => each ?? [])])
    },
    allows(uri, readings, fitting) {
      if (allow === undefined) return true
      const templates = fitting.filter((template) => fits(template, allow))
      if (templates.length === 0 && !fits(uri, allow)) return false
      const inside = [...allowed, ...templates.map(patternOf).flatMap(asRead)]
      return readings.every((reading) => fits(reading, inside))
    },
  }
}

function asRead(pattern: string): readonly string[] {
  return readingsOfPattern(pattern) ?? [pattern]
}
