import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { ToolError } from '../base/errors.js'
import type { Body, BodyField, Operation, Parameter, Style } from './operations.js'
import { isHeaderText } from './options.js'

/** A request as an operation and its arguments make it, before anybody's credentials are added. */
export interface ApiRequest {
  readonly method: string
  /** From the base of the API, with a slash at its beginning. */
  readonly path: string
  /** Pairs that are written already, without question mark. */
  readonly query: readonly string[]
  /** Names in small letters. */
  readonly headers: Readonly<Record<string, string>>
  /** Pairs that are written already. */
  readonly cookies: readonly string[]
  readonly body: string | Uint8Array | undefined
}

type Arguments = JsonObject

/**
 * The request for arguments that fit the schema. No value of a path reaches another path, and none of a
 * header another header. Throws ToolError for one that would, and for what is not base64 where bytes are
 * wanted.
 */
export function requestOf(operation: Operation, args: Arguments, boundary: string): ApiRequest {
  const { method, parameters, body } = operation
  const given = (place: Parameter['in']) =>
    parameters.flatMap((parameter) => {
      const value = own(args, parameter.argument)
      return parameter.in === place && isThere(value) ? [{ parameter, value }] : []
    })
  const headers = new Map<string, string>()
  for (const { parameter, value } of given('header')) {
    const text = written(value, parameter.style, parameter.explode, plain)
    if (!isHeaderText(text))
      throw new ToolError(`${parameter.argument}: no header can have such characters; nothing was sent`)
    headers.set(parameter.name.toLowerCase(), text)
  }
  const sent = body === undefined ? undefined : bodyOf(body, args, boundary)
  if (sent !== undefined) headers.set('content-type', sent.contentType)
  return {
    method,
    path: pathOf(operation, args),
    query: [
      ...(operation.query === '' ? [] : [operation.query]),
      ...given('query').flatMap(({ parameter, value }) => pairsOf(parameter, value)),
    ],
    headers: Object.fromEntries(headers),
    cookies: given('cookie').flatMap(({ parameter, value }) => pairsOf(parameter, value)),
    body: sent?.data,
  }
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null
}

function own(args: Arguments, name: string): unknown {
  return Object.hasOwn(args, name) ? args[name] : undefined
}

/** Each value stays in its part of the path, however often the API decodes it. */
function pathOf({ path, parameters }: Operation, args: Arguments): string {
  const inPath = new Map(parameters.filter((one) => one.in === 'path').map((one) => [one.name, one]))
  const segments = path.split('/').map((segment) => {
    const names: string[] = []
    const text = segment.replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
      const parameter = inPath.get(name)
      if (parameter === undefined) return whole
      names.push(parameter.argument)
      const value = pathValue(parameter, own(args, parameter.argument))
      for (const reading of readings(value.plain)) if (!isStill(reading)) throw leaves(parameter.argument)
      return value.text
    })
    const [argument = ''] = names
    if (argument !== '' && (text === '' || isDots(decoded(text)))) throw leaves(argument)
    return names.length === 0 ? encodeLiteral(text) : text
  })
  return segments.join('/')
}

function leaves(argument: string): ToolError {
  return new ToolError(
    `${argument}: in a path it must not be empty, have control characters, or . or .. as a part; nothing was sent`,
  )
}

function pathValue({ name, style, explode, argument }: Parameter, value: unknown) {
  if (!isThere(value) || value === '') throw leaves(argument)
  const text = written(value, style, explode, encoded)
  const plainText = written(value, style, explode, plain)
  if (style === 'label') return { plain: plainText, text: `.${text}` }
  if (style !== 'matrix') return { plain: plainText, text }
  const key = encoded(name)
  if (explode && isObject(value)) return { plain: plainText, text: `;${text.replaceAll(',', ';')}` }
  const each = explode && Array.isArray(value) ? value.map((one) => encoded(plain(one))) : [text]
  return { plain: plainText, text: each.map((one) => `;${key}=${one}`).join('') }
}

/**
 * What servers and proxies may make of a value: as it is, and decoded as often as there is something to
 * decode.
 */
function readings(text: string): readonly string[] {
  const all = [text]
  for (
    let next = decodedRuns(text);
    next !== all.at(-1) && all.length < mostReadings;
    next = decodedRuns(next)
  )
    all.push(next)
  // what can be decoded on and on is not looked into
  const last = all.at(-1) ?? ''
  return decodedRuns(last) === last ? all : [...all, '..']
}

const mostReadings = 8

/** What can be decoded, whatever stands beside it. */
function decodedRuns(text: string): string {
  return text.replaceAll(/(?:%[\da-f]{2})+/gi, (run) =>
    Buffer.from(run.replaceAll('%', ''), 'hex').toString(),
  )
}

function isStill(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  return !/[\u0000-\u001f\u007f]/.test(text) && !text.split(/[/\\]/).some(isDots)
}

function isDots(part: string): boolean {
  // some servers leave out what stands behind a semicolon
  return /^\.{1,2}(?:;.*)?$/s.test(part)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function encodeLiteral(text: string): string {
  return text.replaceAll(/[^\w!$&'()*+,;=:@.~%-]/g, (sign) => encoded(sign))
}

/** Percent-encoded but for what is unreserved (RFC 3986, section 2.3). */
function encoded(text: string): string {
  return encodeURIComponent(wellFormed(text)).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** Halves of surrogate pairs have no encoding. */
function wellFormed(text: string): string {
  return text.replaceAll(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd')
}

/** Reserved signs stay, but for those that end a value. */
function reserved(text: string): string {
  return encoded(text).replaceAll(/%(?:3A|2F|3F|5B|5D|40|21|24|27|28|29|2A|2C|3B)/g, decoded)
}

function plain(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}

/** One value in a style without names: `simple`, and what others begin with. */
function written(value: unknown, style: Style, explode: boolean, encode: (text: string) => string): string {
  if (style === 'json') return encode(JSON.stringify(value))
  const one = (inner: unknown): string => encode(plain(inner))
  const between = style === 'label' && explode ? '.' : ','
  if (Array.isArray(value)) return value.map(one).join(between)
  if (!isObject(value)) return one(value)
  const entries = Object.entries(value).filter(([, inner]) => isThere(inner))
  return entries.map(([name, inner]) => `${one(name)}${explode ? '=' : ','}${one(inner)}`).join(between)
}

type PairStyle = Pick<Parameter, 'name' | 'style' | 'explode'> & { readonly allowReserved?: boolean }

/** A value as pairs of a query, a cookie or a form. */
function pairsOf(
  { name, style, explode, allowReserved = false }: PairStyle,
  value: unknown,
): readonly string[] {
  const encode = allowReserved ? reserved : encoded
  const key = encoded(name)
  const one = (inner: unknown): string => encode(plain(inner))
  if (style === 'json') return [`${key}=${encode(JSON.stringify(value))}`]
  if (style === 'deepObject' && typeof value === 'object') return deepPairs(key, value, encode)
  if (Array.isArray(value)) {
    if (value.length === 0) return []
    if (explode) return value.map((inner) => `${key}=${one(inner)}`)
    return [`${key}=${value.map(one).join(separators[style] ?? ',')}`]
  }
  if (!isObject(value)) return [`${key}=${one(value)}`]
  const entries = Object.entries(value).filter(([, inner]) => isThere(inner))
  if (entries.length === 0) return []
  if (explode) return entries.map(([field, inner]) => `${encoded(field)}=${one(inner)}`)
  const separator = separators[style] ?? ','
  return [
    `${key}=${entries.map(([field, inner]) => `${encoded(field)}${separator}${one(inner)}`).join(separator)}`,
  ]
}

const separators: Partial<Record<Style, string>> = {
  spaceDelimited: '%20',
  pipeDelimited: '%7C',
  tabDelimited: '%09',
}

/** As many APIs have it: `key[field]=value`, at any depth, and lists as `key[0]=value`. */
function deepPairs(key: string, value: object | null, encode: (text: string) => string): readonly string[] {
  return Object.entries(value ?? {}).flatMap(([field, inner]: [string, unknown]) => {
    if (!isThere(inner)) return []
    const name = `${key}%5B${encoded(field)}%5D`
    return typeof inner === 'object' ? deepPairs(name, inner, encode) : [`${name}=${encode(String(inner))}`]
  })
}

interface Sent {
  readonly contentType: string
  readonly data: string | Uint8Array
}

function bodyOf(body: Body, args: Arguments, boundary: string): Sent | undefined {
  const { kind, mediaType, fields, argument, isRequired } = body
  const value = fields === undefined ? own(args, argument) : fieldsGiven(fields, args)
  const isNothing = value === undefined || (fields !== undefined && Object.keys(value as object).length === 0)
  if (isNothing && !isRequired) return undefined
  switch (kind) {
    case 'json':
      return { contentType: mediaType, data: JSON.stringify(value ?? {}) }
    case 'form':
      return { contentType: mediaType, data: formOf(fields, childrenOf(value)).join('&') }
    case 'multipart': {
      const data = multipartOf(fields, childrenOf(value), boundary)
      return { contentType: `${mediaType}; boundary=${boundary}`, data }
    }
    case 'text':
      return { contentType: mediaType, data: typeof value === 'string' ? value : plain(value ?? '') }
    case 'bytes':
      return { contentType: mediaType, data: bytesOf(argument, value ?? '') }
    default:
      return kind satisfies never
  }
}

/** By the names that the API has for them. */
function fieldsGiven(fields: readonly BodyField[], args: Arguments): JsonObject {
  return Object.fromEntries(
    fields.flatMap(({ name, argument }) => {
      const value = own(args, argument)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

function childrenOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

/** As HTML writes forms: a space is a plus. */
function formOf(fields: readonly BodyField[] | undefined, value: JsonObject): readonly string[] {
  return Object.entries(value)
    .filter(([, one]) => isThere(one))
    .flatMap(([name, one]) => {
      const field = fields?.find((known) => known.name === name)
      if (field?.contentType !== undefined && typeof one === 'object')
        return [`${encoded(name)}=${encoded(JSON.stringify(one))}`]
      const isDeep = isObject(one) || (Array.isArray(one) && one.some((inner) => typeof inner === 'object'))
      const style = isDeep && field?.style !== 'spaceDelimited' ? 'deepObject' : (field?.style ?? 'form')
      return pairsOf({ name, style, explode: field?.explode ?? true }, one)
    })
    .map((pair) => pair.replaceAll('%20', '+'))
}

/** Parts as RFC 7578 has them: files by their base64, objects as JSON, lists as parts of one name. */
function multipartOf(
  fields: readonly BodyField[] | undefined,
  value: JsonObject,
  boundary: string,
): Uint8Array {
  const parts = Object.entries(value).flatMap(([name, one]) => {
    const field = fields?.find((known) => known.name === name)
    const isFile = field?.isFile === true
    return (Array.isArray(one) ? one : [one]).filter(isThere).map((inner) => {
      const isData = isFile && typeof inner === 'string'
      const usual = isData
        ? 'application/octet-stream'
        : typeof inner === 'object'
          ? 'application/json'
          : undefined
      const type = field?.contentType?.split(',')[0]?.trim() ?? usual
      const quoted = name.replaceAll(/["\r\n]/g, encodeURIComponent)
      const file = isData ? `; filename="${quoted}"` : ''
      const head = [
        `--${boundary}`,
        `content-disposition: form-data; name="${quoted}"${file}`,
        ...(type === undefined || type.includes('*') ? [] : [`content-type: ${type}`]),
      ]
      const data = isData ? bytesOf(field?.argument ?? name, inner) : Buffer.from(plain(inner))
      return [Buffer.from(`${head.join('\r\n')}\r\n\r\n`), data, Buffer.from('\r\n')]
    })
  })
  return Buffer.concat([...parts.flat(), Buffer.from(`--${boundary}--\r\n`)])
}

function bytesOf(argument: string, value: unknown): Uint8Array {
  if (typeof value === 'string' && /^[A-Za-z\d+/]*={0,2}$/.test(value) && value.length % 4 === 0)
    return Buffer.from(value, 'base64')
  throw new ToolError(`${argument}: expected bytes in base64; nothing was sent`)
}
