import { closeSync, openSync, readSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  type Client,
  type ClientTransport,
  defineServer,
  memory,
  type ServerDefinition,
  startClient,
  startServer,
} from 'caduceus'
import { fromOpenApi, type OpenApiComponents, type OpenApiOptions } from 'caduceus/openapi'
import { type Invocation, listOf, textOf } from '../base/invocation.js'
import { UsageError } from '../base/usage-error.js'
import { oneLine, tell } from '../terminal/screen.js'

/** The fields of an entry that say how its API is served. */
const fields = [
  ...['baseUrl', 'auth', 'headers', 'include', 'exclude', 'references', 'output', 'timeout', 'maxBytes'],
  ...['maxCalls', 'maxCallsPerCaller', 'maxCallsPerTool', 'breaker'],
] as const

/** Bytes of a file that are looked at, to see whether it is a document. */
const lookedAt = 65_536

/** Whether what is to be served is a document of OpenAPI: an address, YAML, or JSON that says so. */
export function isApiDocument(path: string): boolean {
  if (/^https?:\/\//i.test(path) || /\.ya?ml$/i.test(path)) return true
  return /\.json$/i.test(path) && /"(?:openapi|swagger)"\s*:\s*"\d/.test(beginningOf(path))
}

/** The server of an API, for the options of a command line, and credentials of the environment. */
export async function loadApi(path: string, invocation: Invocation): Promise<ServerDefinition> {
  const baseUrl = textOf(invocation, 'base-url')
  const [include, exclude] = [listOf(invocation, 'include'), listOf(invocation, 'exclude')]
  const given = {
    bearer: process.env.CADUCEUS_AUTH_BEARER,
    basic: process.env.CADUCEUS_AUTH_BASIC,
    apiKey: process.env.CADUCEUS_AUTH_API_KEY,
  }
  const auth = Object.entries(given).filter((pair): pair is [string, string] => Boolean(pair[1]))
  const api = await fromOpenApi(/^https?:/i.test(path) ? path : resolve(path), {
    ...(baseUrl !== undefined && { baseUrl }),
    ...(include.length > 0 && { include }),
    ...(exclude.length > 0 && { exclude }),
    auth: Object.fromEntries(auth),
  })
  tellOmitted(path, api)
  if (api.tools.length === 0) throw new UsageError(`${path} has no operation that could be served`)
  return definitionOf(api)
}

/** The server of an API, which runs in this process. */
interface RunningApi {
  readonly transport: ClientTransport
  end(): Promise<void>
}

/**
 * Starts the server of an entry `{ openapi }` in this process. `folder` is where its paths are meant from.
 * `isQuiet`: nothing is told of it, as somebody waits for one answer. Rejects as `fromOpenApi` does.
 */
export async function runApi(
  name: string,
  entry: Readonly<Record<string, unknown>>,
  folder: string,
  isQuiet = false,
): Promise<RunningApi> {
  const options = Object.fromEntries(
    fields.flatMap((field) => (entry[field] === undefined ? [] : [[field, entry[field]]])),
  ) as OpenApiOptions
  const { openapi } = entry
  if (typeof openapi !== 'string')
    throw new UsageError('openapi: expected the path or the address of a document')
  const api = await fromOpenApi(/^https?:/i.test(openapi) ? openapi : resolve(folder, openapi), options)
  if (!isQuiet) tellOmitted(name, api)
  const { serve, connect } = memory()
  const server = await startServer(definitionOf(api), {
    ...{ transport: serve, signals: false },
    ...(isQuiet && { logger: false as const }),
  })
  const end = async (): Promise<void> => {
    await server.stop()
    await api.close()
  }
  return { transport: connect, end }
}

/** The same, and a client of it, with which it ends. */
export async function startApi(
  name: string,
  entry: Readonly<Record<string, unknown>>,
  folder: string,
  client: Parameters<typeof startClient>[0] extends infer Options ? Partial<Options> : never,
): Promise<Client> {
  const { transport, end } = await runApi(name, entry, folder)
  const started = startClient({ ...client, name, transport })
  started.onState(({ phase }) => {
    if (phase === 'closed' || phase === 'failed') void end()
  })
  return started
}

function definitionOf({ tools, title, version }: OpenApiComponents): ServerDefinition {
  return defineServer({ name: title, version, tools })
}

function tellOmitted(name: string, { omitted }: OpenApiComponents): void {
  const [first] = omitted
  if (first === undefined) return
  const others = omitted.length === 1 ? '' : ` (and ${omitted.length - 1} more)`
  tell(oneLine(`${name}: ${first.method} ${first.path} is left out: ${first.reason}${others}`))
}

function beginningOf(path: string): string {
  try {
    const file = openSync(path, 'r')
    try {
      const buffer = Buffer.alloc(lookedAt)
      return buffer.toString('utf8', 0, readSync(file, buffer, 0, lookedAt, 0))
    } finally {
      closeSync(file)
    }
  } catch {
    // whoever reads it says what is wrong
    return ''
  }
}
