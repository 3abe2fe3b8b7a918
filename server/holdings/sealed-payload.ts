import { isImplementation } from '../../protocol/stateless/envelope.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { Implementation } from '../../protocol/messages/base.js'
import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'
import { ServerError } from '../base/errors.js'

/** What a sealed id says of its session. */
export interface SealedFacts {
  readonly revision: string
  readonly client: Implementation
  readonly capabilities: ClientCapabilities
  /**
   * Whom the session belongs to, as a digest of at most 64 characters; undefined when it belongs to whoever
   * has the id.
   */
  readonly principal?: string
}

/** Bytes that the facts of a session may take. */
const maxBytes = 500
/** Bytes of a name or a version that has to be cut. */
const maxText = 60

/** What the specification knows of a client's capabilities. */
const known = {
  roots: { listChanged: {} },
  sampling: { context: {}, tools: {} },
  elicitation: { form: {}, url: {} },
  tasks: {
    list: {},
    cancel: {},
    requests: { sampling: { createMessage: {} }, elicitation: { create: {} } },
  },
}

/**
 * Facts as short bytes. What does not fit is left out: first what of the client is not its name, then
 * capabilities and settings that the specification does not know, at last the ends of long names. Throws
 * BAD_STATE when even that does not fit.
 */
export function encodeFacts(facts: SealedFacts, expiresAt: number): Buffer {
  const { revision, client, capabilities, principal } = facts
  const { name, version, title } = client
  const forms: [object, object][] = [
    [client, capabilities],
    [{ name, version, ...(title !== undefined && { title }) }, capabilities],
    [{ name, version }, pick(capabilities, known)],
    [{ name: cut(name), version: cut(version) }, pick(capabilities, known)],
  ]
  for (const [who, what] of forms) {
    const bytes = Buffer.from(JSON.stringify([Math.ceil(expiresAt / 1000), revision, who, what, principal]))
    if (bytes.length <= maxBytes) return bytes
  }
  throw new ServerError('BAD_STATE', `a sealed id: expected facts of at most ${maxBytes} bytes`)
}

/** What `encodeFacts` wrote; undefined for anything else. */
export function decodeFacts(
  bytes: Buffer,
): { readonly facts: SealedFacts; readonly expiresAt: number } | undefined {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
  const [seconds, revision, client, capabilities, principal] = Array.isArray(value) ? value : []
  if (typeof seconds !== 'number' || typeof revision !== 'string') return undefined
  if (!isImplementation(client) || !isObject(capabilities)) return undefined
  const facts = { revision, client, capabilities, ...(typeof principal === 'string' && { principal }) }
  return { facts, expiresAt: seconds * 1000 }
}

/** The keys of a value that a shape has, all the way down. */
function pick(value: object, shape: JsonObject): object {
  const entries = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
    const below = Object.hasOwn(shape, key) ? shape[key] : undefined
    if (!isObject(below)) return []
    if (isObject(inner)) return [[key, pick(inner, below)]]
    return typeof inner === 'boolean' ? [[key, inner]] : []
  })
  return Object.fromEntries(entries)
}

function cut(text: string): string {
  let end = Math.min(text.length, maxText)
  while (Buffer.byteLength(JSON.stringify(text.slice(0, end))) > maxText) end -= 1
  return text.slice(0, end)
}
