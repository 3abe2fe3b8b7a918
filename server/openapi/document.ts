import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { unescapePointer } from '../../protocol/schema/limits.js'

/** How far references to references are followed. */
const maxHops = 32

/** What is wrong with one operation: it is left out, and the others are served. */
export class Unusable extends Error {}

/** A document, and what its `$ref`s mean: each is followed once, however many operations have it. */
export class ApiDocument {
  readonly root: JsonObject
  /** 2 for Swagger 2.0. */
  readonly version: '2.0' | '3.0' | '3.1'
  readonly #places = new Memo<string, unknown>()

  constructor(root: JsonObject, version: ApiDocument['version']) {
    this.root = root
    this.version = version
  }

  /**
   * What stands there, through all references. Throws Unusable for one that leads nowhere, or in a circle.
   */
  resolve(value: unknown): unknown {
    let found = value
    for (let hops = 0; isObject(found) && typeof found.$ref === 'string'; hops++) {
      if (hops === maxHops) throw new Unusable(`${shown(found.$ref)} leads in a circle`)
      found = this.at(found.$ref)
    }
    return found
  }

  /** The object that stands there; an empty one for what is none. */
  object(value: unknown): JsonObject {
    const found = this.resolve(value)
    return isObject(found) ? found : {}
  }

  /** What a reference leads to, which may be one itself. Throws Unusable. */
  at(reference: string): unknown {
    return this.#places.get(reference, () => this.#find(reference))
  }

  #find(reference: string): unknown {
    if (!reference.startsWith('#'))
      throw new Unusable(`${shown(reference)} leads out of the document: see the option references`)
    let found: unknown = this.root
    for (const part of reference.slice(1).split('/').slice(1)) {
      const name = unescapePointer(decoded(part))
      const has = typeof found === 'object' && found !== null && Object.hasOwn(found, name)
      if (!has) throw new Unusable(`there is no ${shown(reference)}`)
      found = Reflect.get(found as object, name)
    }
    return found
  }
}

/** What was found out of each key, once: a value, or why there is none. */
export class Memo<Key, Value> {
  readonly #known = new Map<Key, { readonly value: Value } | { readonly problem: Unusable }>()

  /** Throws Unusable where `work` did. */
  get(key: Key, work: () => Value): Value {
    const known = this.#known.get(key) ?? contained(work)
    this.#known.set(key, known)
    if ('problem' in known) throw known.problem
    return known.value
  }
}

/** What the work returns, or what is wrong with the one operation that it is of. */
export function contained<Value>(
  work: () => Value,
): { readonly value: Value } | { readonly problem: Unusable } {
  try {
    return { value: work() }
  } catch (error) {
    if (error instanceof Unusable) return { problem: error }
    throw error
  }
}

/** What somebody else has written, for a message. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
