import { subschemasOf, unescapePointer } from '../schema/limits.js'
import { errorCodes, McpError, ProtocolError } from '../wire/errors.js'
import { isObject, type JsonObject, kindOf } from '../wire/json.js'
import type { JsonRpcRequest } from '../wire/jsonrpc.js'

/** One argument of a tool that `Mcp-Param-*` repeats. */
export interface HeaderParam {
  /** The keys that lead to it from the arguments. */
  readonly path: readonly string[]
  /** The name of the header, in lower case. */
  readonly header: string
  readonly type: 'string' | 'integer' | 'boolean' | 'number'
}

/** The arguments of one tool that headers repeat; none for most tools. */
export type HeaderPlan = readonly HeaderParam[]

/** How strictly `x-mcp-header` is read. */
export interface HeaderPlanOptions {
  /** Takes `number` too, which the specification forbids and official software has sent. Default false. */
  readonly allowNumber?: boolean
}

/** The param that `Mcp-Name` repeats (2026-07-28, Streamable HTTP). */
const nameFields = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
])

const keyword = 'x-mcp-header'
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const types = ['string', 'integer', 'boolean', 'number'] as const
const decimal = /^-?\d+(?:\.\d+)?$/
const none: HeaderPlan = Object.freeze([])
/** Keeps the headers of one request below what HTTP servers take. */
const maxHeaders = 64
const maxNameLength = 128

/** The value of `Mcp-Name`; undefined for a method without it, and for params that lack it. */
export function mirroredName({
  method,
  params,
}: {
  method: string
  params?: JsonObject
}): string | undefined {
  const field = nameFields.get(method)
  const value = field === undefined ? undefined : params?.[field]
  return typeof value === 'string' ? value : undefined
}

/** Whether `Mcp-Name` goes with this method. */
export function needsName(method: string): boolean {
  return nameFields.has(method)
}

/** The headers that a client sends with every request of 2026-07-28 (specification: Streamable HTTP). */
export function mirroredHeaders(request: JsonRpcRequest, revision: string): Record<string, string> {
  const name = mirroredName(request) ?? mirroredTask(request)
  return {
    'mcp-protocol-version': revision,
    'mcp-method': request.method,
    ...(name !== undefined && { 'mcp-name': encodeHeaderValue(name) }),
  }
}

/** Methods of the tasks extension (`io.modelcontextprotocol/tasks`) name their task. */
export function mirroredTask({ method, params }: JsonRpcRequest): string | undefined {
  if (method !== 'tasks/get' && method !== 'tasks/update' && method !== 'tasks/cancel') return undefined
  return typeof params?.taskId === 'string' ? params.taskId : undefined
}

/**
 * Reads `x-mcp-header` in the input schema of a tool, at any depth of properties (2026-07-28, Streamable
 * HTTP; SEP-2243 allowed one level). Throws BAD_SCHEMA where it is misplaced, no token, there twice in any
 * case, or on anything but a string, integer or boolean.
 */
export function headerParams(
  schema: JsonObject,
  { allowNumber = false }: HeaderPlanOptions = {},
): HeaderPlan {
  const marked = subschemasOf(schema).filter((part) => part.schema[keyword] !== undefined)
  if (marked.length === 0) return none
  if (marked.length > maxHeaders)
    throw badSchema('', `expected at most ${maxHeaders} of them, got ${marked.length}`)
  const taken = new Set<string>()
  const plan = marked.map(({ schema: part, pointer }) => {
    const param = readParam(part, pointer, allowNumber)
    if (taken.has(param.header)) throw badSchema(pointer, 'expected a name that no other argument has')
    taken.add(param.header)
    return param
  })
  return Object.freeze(plan)
}

/**
 * Compares the arguments with the headers of their request. Throws McpError -32020 where a header is missing
 * or differs. Arguments that are null or absent have no header; one that is sent is ignored.
 */
export function checkParamHeaders(
  plan: HeaderPlan,
  args: JsonObject | undefined,
  headers: RequestHeaders,
): void {
  for (const param of plan) {
    const value = valueAt(args, param.path)
    const expected = toHeaderText(value)
    // also what does not fit the schema: that is told when the arguments are read
    if (expected === undefined) continue
    const problem = problemOf(param, value, { expected, header: headerOf(headers, param.header) })
    if (problem !== undefined) throw problem
  }
}

/** The headers that a client sends with a call of this tool; an argument that is null or absent has none. */
export function paramHeaders(plan: HeaderPlan, args: JsonObject | undefined): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { path, header } of plan) {
    const text = toHeaderText(valueAt(args, path))
    if (text !== undefined) headers[header] = encodeHeaderValue(text)
  }
  return headers
}

function readParam(part: JsonObject, pointer: string, allowNumber: boolean): HeaderParam {
  const path = pathOf(pointer)
  if (path === undefined)
    throw badSchema(pointer, 'expected it on a property that is reached through properties only')
  const name = part[keyword]
  if (typeof name !== 'string' || !token.test(name) || name.length > maxNameLength)
    throw badSchema(pointer, `expected a token of at most ${maxNameLength} characters, got ${kindOf(name)}`)
  const type = types.find((known) => known === part.type)
  if (type === undefined || (type === 'number' && !allowNumber))
    throw badSchema(pointer, 'expected the property to have the type string, integer or boolean')
  return Object.freeze({ path, header: `mcp-param-${name.toLowerCase()}`, type })
}

/** The property that a JSON Pointer leads to; undefined unless it leads through `properties` alone. */
function pathOf(pointer: string): readonly string[] | undefined {
  const parts = pointer.split('/').slice(1)
  const isReached = parts.length > 0 && parts.every((part, index) => index % 2 === 1 || part === 'properties')
  if (!isReached) return undefined
  return parts.filter((_, index) => index % 2 === 1).map(unescapePointer)
}

function problemOf(
  { header: name, type }: HeaderParam,
  value: unknown,
  { expected, header }: { readonly expected: string; readonly header: string | undefined },
): McpError | undefined {
  if (header === undefined) return headerMismatch(name, 'expected what the argument says, got nothing')
  const said = decodeHeaderValue(header)
  if (said === undefined) return headerMismatch(name, 'expected base64 of UTF-8 between its markers')
  if (said === expected) return undefined
  const isNumber = (type === 'integer' || type === 'number') && typeof value === 'number'
  if (isNumber && decimal.test(said) && Number(said) === value) return undefined
  return headerMismatch(name, 'expected what the argument says, got something else')
}

/** Undefined for values without a header: null, absent, objects, and integers beyond 2^53. */
function toHeaderText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value)
}

function valueAt(args: JsonObject | undefined, path: readonly string[]): unknown {
  let value: unknown = args
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

function badSchema(pointer: string, problem: string): ProtocolError {
  return new ProtocolError('BAD_SCHEMA', `inputSchema${pointer}/${keyword}: ${problem}`)
}

/** Headers of a request, their names in lower case. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

const opening = '=?base64?'
const closing = '?='
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
/** What a header can hold as it is: visible ASCII, with spaces and tabs inside only. */
const plain = /^(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?$/
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const utf8 = new TextEncoder()

/** A value for `Mcp-Name` or `Mcp-Param-*`: as it is, or in base64 where a header could not hold it. */
export function encodeHeaderValue(value: string): string {
  if (plain.test(value) && !isEncoded(value)) return value
  const bytes = utf8.encode(value)
  return `${opening}${Buffer.from(bytes).toString('base64')}${closing}`
}

/** The value of such a header; undefined for broken base64 or UTF-8. The case of the markers counts. */
export function decodeHeaderValue(header: string): string | undefined {
  const value = trimmed(header)
  if (!isEncoded(value)) return value
  const inner = value.slice(opening.length, -closing.length)
  if (!base64.test(inner)) return undefined
  try {
    return strictUtf8.decode(Buffer.from(inner, 'base64'))
  } catch {
    return undefined
  }
}

/** A header without white space around it, joined where there are several; undefined when absent. */
export function headerOf(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name]
  if (value === undefined) return undefined
  return trimmed(typeof value === 'string' ? value : value.join(', '))
}

/** The error -32020 of a header that does not say what the body says. */
export function headerMismatch(header: string, problem: string): McpError {
  return new McpError(errorCodes.headerMismatch, `${header}: ${problem}`, { data: { header } })
}

function isEncoded(value: string): boolean {
  return (
    value.length >= opening.length + closing.length && value.startsWith(opening) && value.endsWith(closing)
  )
}

/** Optional white space is space and tab, nothing else (RFC 9110, section 5.6.3). */
function trimmed(value: string): string {
  let start = 0
  let end = value.length
  while (start < end && isSpace(value.charCodeAt(start))) start++
  while (end > start && isSpace(value.charCodeAt(end - 1))) end--
  return end - start === value.length ? value : value.slice(start, end)
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09
}
