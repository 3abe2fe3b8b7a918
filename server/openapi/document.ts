import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { unescapePointer } from '../../protocol/schema/limits.js'

/** How far references to references are followed. */
const maxHops = 32

/** What is wrong with one operation: it is left out, and the others are served. */
export class Unusable extends Error {}

/** A document, and what its `$ref`s mean. */
export class ApiDocument {
  readonly root: JsonObject
  /** 2 for Swagger 2.0. */
  readonly version: '2.0' | '3.0' | '3.1'

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
