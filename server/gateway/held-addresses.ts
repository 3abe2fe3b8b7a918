import { likeTemplate } from './names.js'
import type { Judgement } from './pins.js'
import { folded, readingsOfPattern, readingsWithin } from './readings.js'

/** What is held back, as `kind name`, and why. */
type HeldEntry = readonly [what: string, why: string]

/** What is known of an address. */
interface AddressFacts {
  /** A template fits it as it is written. */
  readonly fitsTemplate: boolean
  /** False where a server may read it as any other. */
  isReadable(): boolean
  isListed(): boolean
}

/** Which of what is held back an address may be, by each way in which that may be written. */
export interface HeldAddresses {
  /**
   * The resource, or the template where none fits the address as it is written; one that can be read in too many
   * ways may be any, and so may one where very many templates are held back.
   */
  find(uri: string, facts: AddressFacts): HeldEntry | undefined
}

/** Looks at ways to write an address, each for a way to write a template: 20 ms. */
const mostLooks = 50_000
/** Templates, whose ways to be written are looked for: 0.2 ms each. */
const mostTemplates = 100

export function heldAddresses(held: Judgement['held']): HeldAddresses {
  const of = (kind: string): [string, HeldEntry][] =>
    [...held].flatMap(([key, why]) => (key.startsWith(kind) ? [[key.slice(kind.length), [key, why]]] : []))
  const resources = new Map(
    of('resource ').flatMap(([uri, entry]) =>
      (readingsWithin(uri) ?? [uri]).map((one) => [folded(one), entry] as const),
    ),
  )
  const templates = of('resourceTemplate ')
  let likes: readonly { readonly isLike: (uri: string) => boolean; readonly entry: HeldEntry }[] | undefined
  const [anyResource] = resources.values()
  return {
    find(uri, { fitsTemplate, isReadable, isListed }) {
      const possible = fitsTemplate ? [] : templates
      const anyTemplate = possible[0]?.[1]
      const any = anyResource ?? anyTemplate
      if (any === undefined) return undefined
      const readings = readingsWithin(uri)
      if (readings === undefined || !isReadable()) return any
      // an address that is another one of its list is that one
      if (isListed()) return undefined
      const ways = [...new Set(readings.map(folded))]
      const resource = resources.get(ways.find((one) => resources.has(one)) ?? '')
      if (resource !== undefined || possible.length === 0) return resource
      if (possible.length > mostTemplates) return anyTemplate
      likes ??= possible.flatMap(([own, entry]) =>
        [...new Set(readingsOfPattern(own).map(folded))].map((one) => ({ isLike: likeTemplate(one), entry })),
      )
      if (ways.length * likes.length > mostLooks) return anyTemplate
      return likes.find(({ isLike }) => ways.some((one) => isLike(one)))?.entry
    },
  }
}
