import { likeTemplate } from './names.js'
import type { Judgement } from './pins.js'
import { folded, readingsOfPattern, readingsWithin } from './readings.js'

/** What is held back, as `kind name`, and why. */
type HeldEntry = readonly [what: string, why: string]

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
   * ways may be any, and so may each where what is held back can be written in too many.
   */
  find(uri: string, facts: AddressFacts): HeldEntry | undefined
}

/**
 * Looks at ways to write an address, each for a way to write a template: 7 to 25 ms, most of it for the ways
 * themselves; up to 0.1 s where a template has `{+x}` in its midst, and addresses are long.
 */
const mostLooks = 50_000
/** Ways to write what is held back, and their characters, for resources and for templates: about 0.1 s each. */
const mostWays = 500
const mostText = 128 * 1024

export function heldAddresses(held: Judgement['held']): HeldAddresses {
  const of = (kind: string): [string, HeldEntry][] =>
    [...held].flatMap(([key, why]) => (key.startsWith(kind) ? [[key.slice(kind.length), [key, why]]] : []))
  const heldResources = of('resource ')
  const ofResources = waysOf(heldResources, readingsWithin)
  const resources = new Map(ofResources.ways)
  const templates = of('resourceTemplate ')
  let ofTemplates: Spellings | undefined
  let likes: readonly { readonly isLike: (uri: string) => boolean; readonly entry: HeldEntry }[] = []
  // not of its ways: there may be too many to know one
  const anyResource = heldResources[0]?.[1]
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
      if (resource !== undefined) return resource
      if (!ofResources.areAll) return any
      if (possible.length === 0) return undefined
      if (ofTemplates === undefined) {
        ofTemplates = waysOf(templates, readingsOfPattern)
        likes = ofTemplates.ways.map(([one, entry]) => ({ isLike: likeTemplate(one), entry }))
      }
      if (!ofTemplates.areAll || ways.length * likes.length > mostLooks) return anyTemplate
      return likes.find(({ isLike }) => ways.some((one) => isLike(one)))?.entry
    },
  }
}

/** The ways in which names may be written; of too many not all. */
interface Spellings {
  readonly ways: readonly (readonly [way: string, entry: HeldEntry])[]
  readonly areAll: boolean
}

function waysOf(
  names: readonly (readonly [name: string, entry: HeldEntry])[],
  read: (name: string) => readonly string[] | undefined,
): Spellings {
  const ways: [string, HeldEntry][] = []
  let size = 0
  for (const [name, entry] of names) {
    const readings = read(name)
    for (const way of new Set((readings ?? []).map(folded))) {
      ways.push([way, entry])
      size += way.length
    }
    if (readings === undefined || ways.length > mostWays || size > mostText) return { ways, areAll: false }
  }
  return { ways, areAll: true }
}
