import { createHash } from 'node:crypto'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { PinnedDefinition, PinMode } from '../definitions/pins.js'
import type { UpstreamLists } from '../definitions/upstreams.js'
import { hiddenIn } from './hidden-characters.js'

/** Definitions of one server that are remembered: those that are gone are, too. */
export const maxPinned = 10_000
/** Characters of what a definition is of: that is remembered, too. */
const longestKey = 4_096

/** What a gateway does with the definitions of one server. */
export interface Judgement {
  /** Why some are not offered, by what they are of. */
  readonly held: ReadonlyMap<string, string>
  /** Seen for the first time, and to be remembered. */
  readonly fresh: ReadonlyMap<string, PinnedDefinition>
}

/** A definition, and where it has characters that nobody sees. */
export interface ReadDefinition extends PinnedDefinition {
  readonly hidden: readonly string[]
}

/** The same definition is read once, however often it is judged. */
export type KnownDefinitions = WeakMap<object, ReadDefinition>

/** All definitions of a server by what they are of. */
export type Definitions = ReadonlyMap<string, readonly ReadDefinition[]>

/** All definitions of a server, read in steps: a server may list one twice, and many. */
export function* definitionsOf(
  { tools, prompts, resources, templates }: UpstreamLists,
  instructions: string | undefined,
  known: KnownDefinitions = new WeakMap(),
): Generator<undefined, Definitions> {
  const all = new Map<string, ReadDefinition[]>()
  const add = (key: string, entry: JsonObject, of = (whole: JsonObject): unknown => whole) => {
    const read = known.get(entry) ?? readingOf(of(entry))
    known.set(entry, read)
    const others = all.get(key)
    if (others === undefined) all.set(key, [read])
    else others.push(read)
    return undefined
  }
  for (const tool of tools) yield add(`tool ${String(tool.name)}`, tool)
  for (const prompt of prompts) yield add(`prompt ${String(prompt.name)}`, prompt)
  for (const resource of resources) yield add(`resource ${String(resource.uri)}`, resource, lasting)
  for (const template of templates) yield add(`resourceTemplate ${String(template.uriTemplate)}`, template)
  if (instructions !== undefined) all.set('instructions', [readingOf(instructions)])
  return all
}

/** Finds out the digests, one in a step: they are at hand then. */
export function* readDigests(definitions: Definitions): Generator<string> {
  for (const all of definitions.values()) for (const { digest } of all) yield digest
}

/**
 * Which definitions are held back: those that differ from what is pinned; and those that are not, where there
 * are hidden characters in them, or `mode` is `strict`.
 */
export function judge(
  definitions: Definitions,
  pinned: ReadonlyMap<string, string>,
  mode: PinMode,
): Judgement {
  const held = new Map<string, string>()
  const fresh = new Map<string, PinnedDefinition>()
  for (const [key, all] of definitions) {
    const [first] = all
    if (first === undefined) continue
    const known = pinned.get(key)
    if (known !== undefined) {
      // of one that is listed twice nobody knows which is meant
      if (all.some(({ digest }) => digest !== known)) held.set(key, 'has changed since it was pinned')
      continue
    }
    const { digest, definition, hidden } = first
    if (key.length > longestKey) held.set(key, 'has too long a name to be pinned')
    else if (hidden.length > 0) held.set(key, `has hidden characters (${hidden.join('; ')})`)
    else if (mode === 'strict') held.set(key, 'is new')
    else if (all.some((other) => other.digest !== digest)) held.set(key, 'is listed twice, and differs')
    else if (pinned.size + fresh.size >= maxPinned)
      held.set(key, `is new, and ${maxPinned} definitions are pinned already`)
    else fresh.set(key, { digest, definition: inOrder(definition) })
  }
  return { held, fresh }
}

/** The digest of a definition: neither the order of keys nor how numbers are written counts. */
export function digestOf(definition: unknown): string {
  return `sha256-${createHash('sha256')
    .update(JSON.stringify(inOrder(definition)))
    .digest('base64url')}`
}

/** The same value, with all keys in order. */
export function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  if (!isObject(value)) return value
  const keys = Object.keys(value).sort()
  return Object.fromEntries(keys.map((key) => [key, inOrder(value[key])]))
}

function readingOf(value: unknown): ReadDefinition {
  let digest: string | undefined
  return {
    definition: value,
    hidden: hiddenIn(value),
    // only where something is pinned
    get digest() {
      digest ??= digestOf(value)
      return digest
    },
  }
}

/** A resource without what changes with what is in it. */
function lasting({ size: _size, annotations, ...resource }: JsonObject): JsonObject {
  if (!isObject(annotations)) return annotations === undefined ? resource : { ...resource, annotations }
  const { lastModified: _at, ...rest } = annotations
  return { ...resource, ...(Object.keys(rest).length > 0 && { annotations: rest }) }
}
