import { isObject } from '../../protocol/wire/json.js'
import type { ContentBlock } from '../../protocol/messages/content.js'
import type { CallToolResult } from '../../protocol/messages/tools.js'
import { keysOf } from '../../protocol/schema/issues.js'
import type { Schema } from '../../protocol/schema/schema.js'
import { withoutSecrets } from '../../transports/base/secrets.js'
import { cut } from '../../runtime/base/cut.js'
import type { ApiAnswer } from './api.js'
import { isJson } from './operations.js'

/** How a tool says what it returns. */
export interface Output {
  readonly schema: Schema
  /** Whether the value stands in `result`, as it is no object. */
  readonly isWrapped: boolean
}

/** Characters of an error that are shown. */
const maxErrorText = 4_096
/** How often what does not fit is taken out, before nothing is left. */
const maxPruning = 3
/** Characters of a text that is read in every way: a longer one would hold the others up. */
const thoroughlyRead = 16_384
const decoder = new TextDecoder()

/** What the model gets of an answer. */
export async function resultOf(
  answer: ApiAnswer,
  output: Output | undefined,
  uri: string,
): Promise<CallToolResult> {
  const { status, isCut, body } = answer
  if (status >= 300) return failure(answer)
  const value = isJson(answer.contentType) && !isCut ? parsed(textOf(answer)) : undefined
  const content =
    body.length === 0 ? [text(`The API answered ${status}, without a body.`)] : contentOf(answer, uri)
  if (isCut) content.push(text(`Only the first ${body.length} bytes are here: ask for less, or for a part.`))
  if (output === undefined) return { content }
  const { structured, left } = await structuredOf(value, output)
  if (left.length > 0) {
    const places = left.slice(0, 5).join(', ')
    content.push(
      text(`Not in the structured content, as the document of the API does not allow it: ${places}.`),
    )
  }
  return { content, structuredContent: structured }
}

/** The text of an answer as nobody's credentials stand in it. */
export function textOf({ body, isCut, secrets }: ApiAnswer): string {
  const said = withoutBegun(decoder.decode(body), isCut ? spellings(secrets) : [])
  return said.length <= thoroughlyRead
    ? withoutSecrets(said, secrets)
    : spellings(secrets).reduce(without, said)
}

/** The usual ways to write them, the longest first, as one may be a part of another. */
function spellings(secrets: readonly string[]): readonly string[] {
  const all = secrets.flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    // as PHP writes it
    JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/'),
    Buffer.from(secret).toString('base64'),
  ])
  return [...new Set(all)].sort((one, other) => other.length - one.length)
}

/** A text that was cut may end within a secret. */
function withoutBegun(said: string, secrets: readonly string[]): string {
  let most = 0
  for (const secret of secrets)
    for (let length = Math.min(secret.length - 1, said.length); length > most; length -= 1)
      if (said.endsWith(secret.slice(0, length))) most = length
  return most === 0 ? said : said.slice(0, -most)
}

function without(said: string, secret: string): string {
  return said.replaceAll(secret, '...')
}

/** Whether the bytes of an answer are a text. */
export function isTextual({ contentType, body }: ApiAnswer): boolean {
  if (isJson(contentType)) return true
  if (
    /^(?:text\/|application\/(?:[\w.-]+\+)?(?:xml|yaml|javascript|x-www-form-urlencoded|x-ndjson|graphql)\b)/i.test(
      contentType,
    )
  )
    return true
  return contentType === '' && !body.includes(0)
}

/** A type as a server wrote it, without parameters; bytes where it is none. */
export function mediaTypeOf({ contentType }: ApiAnswer): string {
  const [type = ''] = contentType.split(';')
  const own = type.trim().toLowerCase()
  return /^[\w!#$&^.+-]{1,60}\/[\w!#$&^.+-]{1,60}$/.test(own) ? own : 'application/octet-stream'
}

/** What the model reads of an answer that is no success. */
export function problemOf(answer: ApiAnswer): string {
  const { status, location, retryAfter, isCut, secrets } = answer
  const said = isTextual(answer) ? plain(textOf(answer)) : ''
  const body = cut(said, maxErrorText)
  const where = location === undefined ? '' : ` to ${plain(cut(withoutSecrets(location, secrets), 500))}`
  const what =
    status < 400
      ? `The API redirects (${status})${where}, which is not followed.`
      : `The API answered ${status}.`
  const notes = [
    ...(retryAfter === undefined ? [] : [`It may be asked again in ${Math.ceil(retryAfter / 1_000)} s.`]),
    ...(isCut || body.length < said.length ? ['The beginning of its answer:'] : []),
  ]
  return [[what, ...notes].join(' '), ...(body === '' ? [] : [body])].join('\n')
}

function failure(answer: ApiAnswer): CallToolResult {
  return { content: [text(problemOf(answer))], isError: true }
}

function contentOf(answer: ApiAnswer, uri: string): ContentBlock[] {
  const { body, isCut } = answer
  if (isTextual(answer)) return [text(textOf(answer))]
  const mimeType = mediaTypeOf(answer)
  // the beginning of a picture is none
  if (isCut) return [text(`The API answered with ${mimeType}, which is too large.`)]
  const bytes = Buffer.from(body)
  if (spellings(answer.secrets).some((secret) => bytes.includes(secret)))
    return [text(`The API answered with ${mimeType}, in which a credential stands: it is not shown.`)]
  const data = bytes.toString('base64')
  if (mimeType.startsWith('image/')) return [{ type: 'image', data, mimeType }]
  if (mimeType.startsWith('audio/')) return [{ type: 'audio', data, mimeType }]
  return [{ type: 'resource', resource: { uri, mimeType, blob: data } }]
}

function text(value: string): ContentBlock {
  return { type: 'text', text: value }
}

function parsed(given: string): unknown {
  try {
    return JSON.parse(given)
  } catch {
    return undefined
  }
}

/**
 * The value as its schema allows it. A call must not fail for an API that returns something else than it
 * says: what does not fit is left out here, and stands in the text.
 */
async function structuredOf(value: unknown, { schema, isWrapped }: Output) {
  const left = new Set<string>()
  const whole = isWrapped ? { result: value } : value
  if (value === undefined || !isObject(whole)) return { structured: {}, left: [] }
  const structured = structuredClone(whole)
  for (let round = 0; ; round++) {
    const checked = await schema.parse(structured)
    if ('value' in checked) return { structured, left: [...left] }
    const paths = checked.issues.map(({ path }) => path)
    for (const path of paths) left.add(path === '' ? 'the whole' : cut(path, 80))
    if (round >= maxPruning || paths.includes('')) return { structured: {}, left: [...left] }
    for (const path of new Set(paths)) takeOut(structured, keysOf(path))
  }
}

/** Takes out the nearest field around what is wrong: an item of a list keeps its place. */
function takeOut(structured: object, keys: readonly PropertyKey[]): void {
  const depth = keys.findLastIndex((key) => typeof key === 'string')
  let at: unknown = structured
  for (const key of keys.slice(0, Math.max(depth, 0)))
    at = typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined
  const key = keys[depth]
  if (typeof at === 'object' && at !== null && key !== undefined) Reflect.deleteProperty(at, key)
}

/** Without what steers a terminal. */
function plain(said: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  return said.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, ' ')
}
