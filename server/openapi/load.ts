import { open, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { lazy } from '../../runtime/faults/load.js'
import { messageOf, show } from '../../runtime/base/errors.js'
import { isPrivateHost } from '../../transports/base/private-address.js'
import { safeFetch } from '../../transports/http/outgoing/fetch.js'
import { ServerError, optionError } from '../base/errors.js'
import { ApiDocument } from './document.js'
import type { OpenApiSettings } from './options.js'
import type { Pace } from './pace.js'
import { jsonOfYaml, mostYaml } from './yaml.js'

/** Bytes of a document, and of each file that it refers to. */
const maxBytes = 32 * 1024 * 1024
/** Levels of objects and lists. */
const maxLevels = 200
const fetchTimeout = 30_000

const loadParser = /* @__PURE__ */ lazy('@apidevtools/json-schema-ref-parser', () =>
  import('@apidevtools/json-schema-ref-parser').catch((cause: unknown) =>
    Promise.reject(
      optionError(
        'references',
        'the package @apidevtools/json-schema-ref-parser (15) is needed for references: npm install @apidevtools/json-schema-ref-parser',
        cause,
      ),
    ),
  ),
)

/** A document, and where it is from: what it says of addresses is meant from there. */
export interface LoadedDocument {
  readonly document: ApiDocument
  readonly from: URL | undefined
  /** Whether it is from the internet, as found out before it was read. */
  readonly isPublic: boolean
}

/**
 * Reads a document: an object, the path or address of a file, an http(s) address, or its text. Rejects with
 * BAD_DEFINITION for what is no document, and BAD_OPTION where the package for `references` is missing.
 */
export async function loadDocument(
  given: unknown,
  settings: OpenApiSettings,
  pace: Pace,
): Promise<LoadedDocument> {
  const from = addressOf(given)
  const isPublic = from !== undefined && from.protocol !== 'file:' && !(await isPrivateHost(from.hostname))
  const where = from?.href ?? 'the document'
  const root =
    from === undefined ? await rootOf(given) : await parseDocument(await read(from, !isPublic), where)
  // that it was parsed was work in one go
  await pace.rest()
  await checkLevels(root, where, pace)
  const whole = settings.references.length === 0 ? root : await bundle(root, { from, isPublic }, settings)
  if (whole !== root) await checkLevels(whole, 'the document', pace)
  return { document: new ApiDocument(whole, versionOf(whole)), from, isPublic }
}

/** Undefined for an object or a text. */
function addressOf(given: unknown): URL | undefined {
  if (given instanceof URL) return checked(given)
  if (typeof given !== 'string' || /[\r\n]/.test(given.trim()) || /^\s*[{[]/.test(given)) return undefined
  if (/^(?:https?|file):\/\//i.test(given) && URL.canParse(given)) return checked(new URL(given))
  if (/^(?:openapi|swagger)\s*:/.test(given)) return undefined
  return pathToFileURL(resolve(given))
}

function checked(url: URL): URL {
  if (/^(?:https?|file):$/.test(url.protocol)) return url
  throw bad(`expected a file or an http address, got one of ${url.protocol}`)
}

async function rootOf(given: unknown): Promise<JsonObject> {
  if (typeof given === 'string') return parseDocument(given, 'the document')
  if (!isObject(given)) throw bad(`expected an object, a path, an address or a text, got ${show(given)}`)
  let copy: unknown
  try {
    copy = JSON.parse(JSON.stringify(given))
  } catch (cause) {
    const problem =
      'the document holds itself, as one does whose $refs were replaced: give it as it was, with its $refs'
    throw bad(
      /circular|call stack/i.test(messageOf(cause)) ? problem : `it has no JSON: ${messageOf(cause)}`,
      cause,
    )
  }
  if (!isObject(copy)) throw bad('expected an object')
  return copy
}

async function parseDocument(text: string, where: string): Promise<JsonObject> {
  if (text.length > maxBytes) throw bad(`${where} has more than ${maxBytes} bytes`)
  const value = /^\s*\{/.test(text) ? parseJson(text) : undefined
  const root = value ?? (await parseYaml(text, where))
  if (!isObject(root))
    throw bad(`${where} is no document of OpenAPI: expected an object with openapi or swagger`)
  return root
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // YAML may begin like JSON
    return undefined
  }
}

async function parseYaml(text: string, where: string): Promise<unknown> {
  if (text.length > mostYaml)
    throw bad(
      `${where} has more than ${mostYaml} characters of YAML, which takes long to read: write it as JSON`,
    )
  const parsed = await jsonOfYaml(text)
  if ('problem' in parsed) throw bad(`${where}: ${parsed.problem}`)
  return JSON.parse(parsed.json)
}

/** What goes deeper would end whoever walks through it. */
async function checkLevels(value: object, where: string, pace: Pace): Promise<void> {
  const waiting: { readonly inner: object; readonly level: number }[] = [{ inner: value, level: 0 }]
  let seen = 0
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next.level > maxLevels) throw bad(`${where} has more than ${maxLevels} levels`)
    for (const inner of Object.values(next.inner))
      if (typeof inner === 'object' && inner !== null) waiting.push({ inner, level: next.level + 1 })
    seen += 1
    if (seen % 1_000 === 0 && pace.isDue()) await pace.rest()
  }
}

function versionOf({ openapi, swagger }: JsonObject): ApiDocument['version'] {
  const said = String(openapi ?? swagger ?? '')
  if (swagger !== undefined && said === '2.0') return '2.0'
  if (openapi !== undefined && /^3\.0(?:\.\d+)?/.test(said)) return '3.0'
  if (openapi !== undefined && /^3\.[12](?:\.\d+)?/.test(said)) return '3.1'
  const got = said === '' ? 'a document without openapi and swagger' : `version ${show(said)}`
  throw bad(`expected OpenAPI 2.0, 3.0 or 3.1, got ${got}`)
}

async function read(from: URL, privateNetwork: boolean): Promise<string> {
  return from.protocol === 'file:' ? readFile(fileURLToPath(from)) : fetchText(from, privateNetwork)
}

/** Of a file, and of nothing that may never end. */
async function readFile(path: string): Promise<string> {
  try {
    const file = await open(path, 'r')
    try {
      const { size, isFile } = await file
        .stat()
        .then((facts) => ({ size: facts.size, isFile: facts.isFile() }))
      if (!isFile) throw bad(`${path} is no file`)
      if (size > maxBytes) throw bad(`${path} has more than ${maxBytes} bytes`)
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch (cause) {
    if (cause instanceof ServerError) throw cause
    throw bad(`${path} cannot be read: ${messageOf(cause)}`, cause)
  }
}

async function fetchText(url: URL, privateNetwork: boolean): Promise<string> {
  const signal = new AbortController().signal
  const headers = { accept: 'application/json, application/yaml, text/yaml, */*;q=0.5' }
  const request = { timeout: fetchTimeout, maxBytes, signal, privateNetwork, headers }
  const answer = await safeFetch(url.href, request).catch((cause: unknown) => {
    throw bad(`${url.origin}${url.pathname} cannot be read: ${messageOf(cause)}`, cause)
  })
  if (answer.status === 200) return answer.text
  throw bad(`${url.origin}${url.pathname} cannot be read: the server answered ${answer.status}`)
}

/** Documents that one may refer to, each of them by others too. */
const mostFiles = 200

/** One document of it and all that it refers to, as far as the options allow. */
async function bundle(
  root: JsonObject,
  { from, isPublic }: Pick<LoadedDocument, 'from' | 'isPublic'>,
  settings: OpenApiSettings,
): Promise<JsonObject> {
  const { $RefParser } = await loadParser()
  const { references } = settings
  const folder = from?.protocol === 'file:' ? await realpath(dirname(fileURLToPath(from))) : undefined
  const room = { files: mostFiles, bytes: maxBytes }
  const readFrom = async ({ url }: { readonly url: string }): Promise<string> => {
    room.files -= 1
    if (room.files < 0) throw bad(`it refers to more than ${mostFiles} documents`)
    const text = await readOne(url)
    room.bytes -= text.length
    if (room.bytes < 0) throw bad(`what it refers to has more than ${maxBytes} characters`)
    return text
  }
  const readOne = async (url: string): Promise<string> => {
    if (/^https?:/i.test(url)) {
      if (!references.includes('network')) throw bad(`${url} is not read: see the option references`)
      // what is on the internet may not look into our network
      return fetchText(new URL(url), from !== undefined && from.protocol !== 'file:' && !isPublic)
    }
    if (!references.includes('files') || folder === undefined)
      throw bad(`${url} is not read: see the option references`)
    const path = await realpath(/^file:/i.test(url) ? fileURLToPath(url) : url)
    const inside = relative(folder, path)
    if (inside.startsWith('..') || isAbsolute(inside)) throw bad(`${url} is not beside or below the document`)
    return readFile(path)
  }
  const anywhere = { order: 1, canRead: true, read: readFrom }
  try {
    const parser = new $RefParser()
    const base = from === undefined ? undefined : from.protocol === 'file:' ? fileURLToPath(from) : from.href
    const options = { resolve: { file: false, http: false, ours: anywhere }, continueOnError: false } as const
    const whole = await (base === undefined
      ? parser.bundle(root as never, options as never)
      : parser.bundle(base, root as never, options as never))
    return whole as unknown as JsonObject
  } catch (cause) {
    throw cause instanceof ServerError
      ? cause
      : bad(`a reference cannot be followed: ${messageOf(cause)}`, cause)
  }
}

function bad(problem: string, cause?: unknown): ServerError {
  return new ServerError('BAD_DEFINITION', `fromOpenApi: ${problem}`, {
    ...(cause !== undefined && { cause }),
    data: { field: 'document' },
  })
}
