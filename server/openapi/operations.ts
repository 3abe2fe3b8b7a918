import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { messageOf } from '../../runtime/base/errors.js'
import { type ApiDocument, contained, listOf, Memo, shown, textOf, Unusable } from './document.js'
import { apart, argumentOf, nameOf } from './names.js'
import { isHeaderText, type OperationFacts } from './options.js'
import type { Pace } from './pace.js'
import { isBytes } from './schemas.js'

export type Place = 'path' | 'query' | 'header' | 'cookie'

/** How the values of a parameter are written (OpenAPI 3.1, parameter object, style). */
export type Style =
  | 'matrix'
  | 'label'
  | 'simple'
  | 'form'
  | 'spaceDelimited'
  | 'pipeDelimited'
  | 'tabDelimited'
  | 'deepObject'
  | 'json'

export interface Parameter {
  readonly name: string
  readonly in: Place
  /** What the tool calls it. */
  readonly argument: string
  readonly isRequired: boolean
  readonly schema: unknown
  readonly description: string | undefined
  readonly style: Style
  readonly explode: boolean
  readonly allowReserved: boolean
}

/** A field of a body that is an argument by itself. */
export interface BodyField {
  readonly name: string
  readonly argument: string
  readonly isRequired: boolean
  readonly schema: unknown
  readonly style: Style
  readonly explode: boolean
  /** Of a part of a form; undefined: as its value wants. */
  readonly contentType: string | undefined
  /** Whether its values are bytes, or lists of them. */
  readonly isFile: boolean
}

export interface Body {
  readonly kind: 'json' | 'form' | 'multipart' | 'text' | 'bytes'
  readonly mediaType: string
  readonly isRequired: boolean
  /** Its fields as arguments; undefined: the whole is one argument. */
  readonly fields: readonly BodyField[] | undefined
  /** The argument that the whole is. */
  readonly argument: string
  readonly schema: unknown
}

/** One of the ways in which an operation may be called: names of schemes, with scopes. */
export type Requirement = ReadonlyMap<string, readonly string[]>

export interface Operation extends OperationFacts {
  readonly summary: string | undefined
  readonly description: string | undefined
  readonly parameters: readonly Parameter[]
  readonly body: Body | undefined
  /** The schema of the first JSON that a success has; undefined where there is none. */
  readonly output: unknown
  /** Any one of these; empty: none is needed. */
  readonly security: readonly Requirement[]
  /** What the path of the document has behind a question mark. */
  readonly query: string
}

/** An operation that is not served, and why. */
export interface Omitted {
  readonly method: string
  readonly path: string
  readonly operationId: string | undefined
  readonly reason: string
}

/** What a document has: one operation that is wrong costs no other. */
export interface Operations {
  readonly operations: readonly Operation[]
  readonly omitted: readonly Omitted[]
}

/** Not TRACE, whose answer is what was sent: credentials would be read by whoever calls (RFC 9110, 9.3.8). */
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']

/** Operations that are read of one document, and the arguments that all of them have. */
const mostOperations = 5_000
const mostArguments = 100_000

/**
 * Reads the operations of a document; `isWanted` says which, `isHere` whether its servers are ours. What is beyond
 * the bounds is left out, and told first.
 */
export async function readOperations(
  document: ApiDocument,
  isWanted: (facts: OperationFacts) => boolean,
  isHere: (servers: unknown) => string | undefined,
  pace: Pace,
): Promise<Operations> {
  const operations: Operation[] = []
  const omitted: Omitted[] = []
  const taken = new Set<string>()
  const reader: Reader = { document, isHere, fields: new Memo() }
  const room = { operations: mostOperations, arguments: mostArguments }
  for (const [path, given] of Object.entries(childrenOf(document.root.paths))) {
    // an extension of the document
    if (path.startsWith('x-')) continue
    if (pace.isDue()) await pace.rest()
    const item = contained(() => document.object(given))
    if ('problem' in item) {
      omitted.push({ method: '*', path, operationId: undefined, reason: messageOf(item.problem) })
      continue
    }
    for (const method of methods) {
      const own = item.value[method]
      if (own === undefined) continue
      const facts = factsOf(own, method.toUpperCase(), path, taken)
      taken.add(facts.name)
      if (!isWanted(facts)) continue
      const about = { method: facts.method, path, operationId: facts.operationId }
      const problem = problemOf(room)
      if (problem !== undefined) return { operations, omitted: [{ ...about, reason: problem }, ...omitted] }
      const read = contained(() => readOperation(reader, facts, item.value, own))
      room.operations -= 1
      if ('problem' in read) omitted.push({ ...about, reason: messageOf(read.problem) })
      else {
        operations.push(read.value)
        room.arguments -= read.value.parameters.length + (read.value.body?.fields?.length ?? 0)
      }
    }
  }
  return { operations, omitted }
}

/** Why no more operations are read. */
function problemOf(room: { readonly operations: number; readonly arguments: number }): string | undefined {
  const all = 'it is left out with all behind it, as the operations of one document may have'
  const remedy = 'say which are served in include and exclude'
  if (room.arguments <= 0) return `${all} ${mostArguments} arguments: ${remedy}`
  if (room.operations > 0) return undefined
  return `it is left out with all behind it, as ${mostOperations} operations of one document are served: ${remedy}`
}

/** What operations are read with. */
interface Reader {
  readonly document: ApiDocument
  readonly isHere: (servers: unknown) => string | undefined
  /** The fields of bodies, by their schemas: operations share them. */
  readonly fields: Memo<unknown, readonly Found[] | undefined>
}

function factsOf(own: unknown, method: string, path: string, taken: ReadonlySet<string>): OperationFacts {
  const { operationId, tags, deprecated } = isObject(own) ? own : ({} as JsonObject)
  const id = textOf(operationId)
  const usual = nameOf(id, method, path)
  let name = usual
  for (let turn = 0; taken.has(name); turn += 1) name = apart(usual, `${method} ${path}${'.'.repeat(turn)}`)
  return {
    name,
    method,
    path,
    operationId: id,
    tags: listOf(tags).filter((tag) => typeof tag === 'string') as string[],
    isDeprecated: deprecated === true,
  }
}

function readOperation(reader: Reader, facts: OperationFacts, item: JsonObject, own: unknown): Operation {
  const { document, isHere } = reader
  if (!isObject(own)) throw new Unusable('it is no object')
  const { path, method } = facts
  if (!path.startsWith('/')) throw new Unusable('its path does not begin with a slash')
  const elsewhere = isHere(own.servers ?? item.servers)
  if (elsewhere !== undefined) throw new Unusable(elsewhere)
  const { parameters, bodyParameters } = readParameters(document, facts, item, own)
  const names = new Set(parameters.map(({ argument }) => argument))
  const body =
    document.version === '2.0' ? readBody2(reader, own, bodyParameters, names) : readBody3(reader, own, names)
  return {
    ...facts,
    // some documents tell operations of one path apart by a fragment
    path: path.replace(/[?#].*$/s, ''),
    query: /^[^#]*?\?([^#]*)/.exec(path)?.[1] ?? '',
    summary: textOf(own.summary),
    description: textOf(own.description),
    parameters,
    body: method === 'HEAD' ? undefined : body,
    output: outputOf(document, own),
    security: readSecurity(own.security ?? document.root.security),
  }
}

/** Headers that say how a request is sent; and those that the document says elsewhere. */
const notSettable =
  /^(?:accept|content-type|cookie|authorization|host|content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|proxy-.*)$/i

function readParameters(document: ApiDocument, { path }: OperationFacts, item: JsonObject, own: JsonObject) {
  const all = new Map<string, JsonObject>()
  const bodyParameters: JsonObject[] = []
  for (const one of [...listOf(item.parameters), ...listOf(own.parameters)]) {
    const found = document.object(one)
    const { name, in: place } = found
    if (place === 'body' || place === 'formData') bodyParameters.push(found)
    else if (typeof name === 'string' && name !== '') all.set(`${String(place)} ${name}`, found)
  }
  const inPath = new Set(
    [...path.replace(/[?#].*$/s, '').matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name),
  )
  if (inPath.has('')) throw new Unusable('its path has a parameter without a name')
  for (const name of inPath)
    if (!all.has(`path ${name}`)) all.set(`path ${name}`, { name, in: 'path', schema: { type: 'string' } })
  const order: readonly Place[] = ['path', 'query', 'header', 'cookie']
  const names = new Set<string>()
  const parameters = order.flatMap((place) =>
    [...all.values()].flatMap((found): Parameter[] => {
      const name = String(found.name)
      if (found.in !== place || (place === 'path' && !inPath.has(name))) return []
      if (place === 'header' && (notSettable.test(name) || !isHeaderName(name))) return []
      return [{ ...readParameter(document, found, place), argument: freeName(name, place, names) }]
    }),
  )
  return { parameters, bodyParameters }
}

function isHeaderName(name: string): boolean {
  return isHeaderText(name) && /^[\w!#$%&'*+.^`|~-]+$/.test(name)
}

/** The first that has a name keeps it; the others have their place before it. */
function freeName(name: string, place: string, taken: Set<string>): string {
  const own = argumentOf(name)
  let free = own
  while (taken.has(free)) free = argumentOf(`${place}_${free}`)
  // so long that the place has no room any more
  if (free.length === 64 && free !== own) free = apart(own, `${place} ${name}`)
  taken.add(free)
  return free
}

const styles: Readonly<Record<Place, readonly Style[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
}

function readParameter(document: ApiDocument, found: JsonObject, place: Place): Omit<Parameter, 'argument'> {
  const common = {
    name: String(found.name),
    in: place,
    isRequired: place === 'path' || found.required === true,
    description: textOf(found.description),
    allowReserved: place === 'query' && found.allowReserved === true,
  }
  if (document.version === '2.0') return { ...common, schema: found, ...collection(found, place) }
  const [mediaType, media] = Object.entries(childrenOf(found.content))[0] ?? []
  if (mediaType !== undefined) {
    const schema = document.object(media).schema
    return { ...common, schema, style: isJson(mediaType) ? 'json' : usualStyle(place), explode: false }
  }
  const style = styles[place].find((one) => one === found.style) ?? usualStyle(place)
  const explode = typeof found.explode === 'boolean' ? found.explode : style === 'form'
  return { ...common, schema: found.schema, style, explode }
}

function usualStyle(place: Place): Style {
  return place === 'path' || place === 'header' ? 'simple' : 'form'
}

/** How lists are written in 2.0 (`collectionFormat`). */
function collection(
  { collectionFormat }: JsonObject,
  place: Place | 'formData',
): Pick<Parameter, 'style' | 'explode'> {
  if (place === 'path' || place === 'header') return { style: 'simple', explode: false }
  switch (collectionFormat) {
    case 'multi':
      return { style: 'form', explode: true }
    case 'ssv':
      return { style: 'spaceDelimited', explode: false }
    case 'tsv':
      return { style: 'tabDelimited', explode: false }
    case 'pipes':
      return { style: 'pipeDelimited', explode: false }
    default:
      return { style: 'form', explode: false }
  }
}

function readBody2(
  reader: Reader,
  own: JsonObject,
  given: readonly JsonObject[],
  names: Set<string>,
): Body | undefined {
  const { document } = reader
  const consumes = listOf(own.consumes ?? document.root.consumes).filter((one) => typeof one === 'string')
  const whole = given.find((one) => one.in === 'body')
  if (whole !== undefined) {
    const mediaType = (consumes.find((one) => isJson(one)) ?? consumes[0] ?? 'application/json') as string
    return bodyOf(reader, mediaType, whole.required === true, whole.schema, {}, names)
  }
  if (given.length === 0) return undefined
  const hasFile = given.some(({ type }) => type === 'file')
  const isMultipart = hasFile || consumes.some((one) => /^multipart\//i.test(one as string))
  const fields = given.map((one): BodyField => {
    const name = String(one.name)
    return {
      name,
      argument: freeName(name, 'body', names),
      isRequired: one.required === true,
      schema: one,
      ...collection(one, 'formData'),
      contentType: undefined,
      isFile: holdsBytes(document, one),
    }
  })
  return {
    kind: isMultipart ? 'multipart' : 'form',
    mediaType: isMultipart ? 'multipart/form-data' : 'application/x-www-form-urlencoded',
    isRequired: fields.some(({ isRequired }) => isRequired),
    fields,
    argument: 'body',
    schema: undefined,
  }
}

function readBody3(reader: Reader, own: JsonObject, names: Set<string>): Body | undefined {
  const { document } = reader
  if (own.requestBody === undefined) return undefined
  const { content, required } = document.object(own.requestBody)
  const media = Object.entries(childrenOf(content))
  const first = (fits: (type: string) => boolean) => media.find(([type]) => fits(type))
  const [mediaType, given] =
    first(isJson) ?? first(isMultipartForm) ?? first(isUrlEncoded) ?? first(isText) ?? media[0] ?? []
  if (mediaType === undefined) return undefined
  const { schema, encoding } = document.object(given)
  return bodyOf(reader, mediaType, required === true, schema, childrenOf(encoding), names)
}

function bodyOf(
  { document, fields: all }: Reader,
  mediaType: string,
  isRequired: boolean,
  schema: unknown,
  encoding: JsonObject,
  names: Set<string>,
): Body {
  if (!isMediaType(mediaType)) throw new Unusable(`${shown(mediaType)} is no media type`)
  const kind = kindOfBody(mediaType)
  const whole = kind === 'text' || kind === 'bytes' ? undefined : document.resolve(schema)
  const found = whole === undefined ? undefined : all.get(whole, () => fieldsOf(document, whole))
  const isForm = kind === 'form' || kind === 'multipart'
  if (isForm && found === undefined && schema !== undefined && !isOpenObject(document, schema))
    throw new Unusable(`a body of ${mediaType} has to be an object`)
  const fields = found?.map(({ name, schema: own, isRequired: needed }): BodyField => {
    const { style, explode, contentType } = document.object(
      Object.hasOwn(encoding, name) ? encoding[name] : {},
    )
    const known = styles.query.find((one) => one === style)
    return {
      name,
      argument: freeName(name, 'body', names),
      isRequired: needed,
      schema: own,
      style: known ?? 'form',
      explode: typeof explode === 'boolean' ? explode : known === undefined || known === 'form',
      contentType: typeof contentType === 'string' && isMediaType(contentType) ? contentType : undefined,
      isFile: holdsBytes(document, own),
    }
  })
  const argument = fields === undefined ? freeName('body', 'body', names) : 'body'
  return { kind, mediaType: sent(mediaType), isRequired, fields, argument, schema }
}

interface Found {
  readonly name: string
  readonly schema: unknown
  readonly isRequired: boolean
}

/** Schemas that one object may be made of: each may name all others again. And fields that it may have. */
const mostParts = 500
const mostFields = 1_000

/** What may stand in a schema whose fields are all that it says. */
const plainKeywords = new Set([
  ...['type', 'properties', 'required', 'title', 'description', 'example', 'examples', 'allOf', 'default'],
  ...['additionalProperties', 'externalDocs', 'xml', 'deprecated', 'discriminator', 'minProperties'],
])

/** The fields of an object that is fully said by them; undefined for any other schema. */
function fieldsOf(
  document: ApiDocument,
  schema: unknown,
  depth = 0,
  room = { left: mostParts },
): readonly Found[] | undefined {
  room.left -= 1
  if (room.left < 0) return undefined
  const found = document.object(schema)
  const { properties, required, allOf, additionalProperties } = found
  const isPlain = Object.keys(found).every(
    (keyword) => plainKeywords.has(keyword) || keyword.startsWith('x-'),
  )
  const isOpen = additionalProperties === true || isObject(additionalProperties)
  if (!isPlain || isOpen || depth > 8 || (found.type !== undefined && found.type !== 'object'))
    return undefined
  const own = childrenOf(properties)
  const needed = new Set(listOf(required))
  const inherited: Found[] = []
  for (const part of listOf(allOf)) {
    const found = fieldsOf(document, part, depth + 1, room)
    if (found === undefined) return undefined
    inherited.push(...found)
    if (inherited.length > mostFields) throw new Unusable(`its arguments have more than ${mostFields} fields`)
  }
  const named = new Map<string, Found>()
  for (const one of inherited) named.set(one.name, one)
  for (const [name, one] of Object.entries(own)) {
    // two that both hold
    if (named.has(name)) return undefined
    named.set(name, { name, schema: one, isRequired: false })
  }
  if (named.size === 0) return depth > 0 ? [] : undefined
  if (named.size > mostFields) throw new Unusable(`its arguments have more than ${mostFields} fields`)
  // what the API alone sets
  const settable = [...named.values()].filter((one) => document.object(one.schema).readOnly !== true)
  return settable.map((one) => ({ ...one, isRequired: one.isRequired || needed.has(one.name) }))
}

function holdsBytes(document: ApiDocument, schema: unknown, depth = 0): boolean {
  const found = document.object(schema)
  return (
    isBytes(found) || (found.items !== undefined && depth < 4 && holdsBytes(document, found.items, depth + 1))
  )
}

function isOpenObject(document: ApiDocument, schema: unknown): boolean {
  const { type, properties, additionalProperties, allOf, oneOf, anyOf } = document.object(schema)
  return (
    [properties, additionalProperties, allOf, oneOf, anyOf].some(Boolean) ||
    type === 'object' ||
    type === undefined
  )
}

function outputOf(document: ApiDocument, { responses, produces }: JsonObject): unknown {
  const given = childrenOf(responses)
  const code = Object.keys(given)
    .sort()
    .find((one) => /^2(?:\d\d|XX)$/i.test(one))
  if (code === undefined) return undefined
  try {
    const response = document.object(given[code])
    if (document.version === '2.0') {
      const types = listOf(produces ?? document.root.produces)
      return types.length === 0 || types.some((one) => isJson(String(one))) ? response.schema : undefined
    }
    const media = Object.entries(childrenOf(response.content)).find(([type]) => isJson(type))
    return media && document.object(media[1]).schema
  } catch (error) {
    // what it returns is told as text then
    if (error instanceof Unusable) return undefined
    throw error
  }
}

function readSecurity(value: unknown): readonly Requirement[] {
  return listOf(value)
    .filter(isObject)
    .map((one) => new Map(Object.entries(one).map(([name, scopes]) => [name, textsOf(scopes)] as const)))
}

function textsOf(value: unknown): readonly string[] {
  return listOf(value).filter((one): one is string => typeof one === 'string')
}

export function childrenOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

export function isJson(mediaType: unknown): boolean {
  return typeof mediaType === 'string' && /^[\w.+-]+\/(?:[\w.-]+\+)?json(?:[\s;]|$)/i.test(mediaType.trim())
}

const isMultipartForm = (type: string): boolean => /^multipart\//i.test(type)
const isUrlEncoded = (type: string): boolean => /^application\/x-www-form-urlencoded\b/i.test(type)
const isText = (type: string): boolean => /^(?:text\/|application\/(?:[\w.-]+\+)?xml\b)/i.test(type)

function isMediaType(text: string): boolean {
  return isHeaderText(text) && /^(?:[\w!#$&^.+-]+|\*)\/(?:[\w!#$&^.+-]+|\*)\s*(?:;.*)?$/.test(text)
}

function kindOfBody(mediaType: string): Body['kind'] {
  if (isJson(mediaType)) return 'json'
  if (isMultipartForm(mediaType)) return 'multipart'
  if (isUrlEncoded(mediaType)) return 'form'
  return isText(mediaType) ? 'text' : 'bytes'
}

/** A range says what is taken; one type is sent. */
function sent(mediaType: string): string {
  if (mediaType.includes('*')) return 'application/octet-stream'
  return isMultipartForm(mediaType) ? 'multipart/form-data' : mediaType
}
