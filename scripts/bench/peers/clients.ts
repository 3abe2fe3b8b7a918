import type { Load } from './load.js'
import {
  commandOf,
  type MeasuredProcess,
  startClientProcess,
  startServerProcess,
} from './measured-process.js'

/** The server of all clients: it costs them as little as can be, and each of them the same. */
const raw = new URL('./contenders/raw.js', import.meta.url).href

/** Has a Streamable HTTP server that all clients share, for as long as `use` takes. */
export async function withServer<Result>(use: (url: string) => Promise<Result>): Promise<Result> {
  const server = startServerProcess({ module: raw, transport: 'http' })
  try {
    const port = await server.ready()
    if (port === undefined) throw new Error('the server has no port')
    return await use(`http://127.0.0.1:${port}/mcp`)
  } finally {
    await server.end()
  }
}

/** A client with a session over Streamable HTTP; a request is a call of `echo`, 16 at once. */
export function openHttpClient(module: string, url: string, profiles?: string): Promise<Load> {
  return open(startClientProcess(module, { url }, profiles))
}

/** A client with a child process of its own on pipes; a request is a call of `echo`, 16 at once. */
export function openStdioClient(module: string, profiles?: string): Promise<Load> {
  return open(startClientProcess(module, commandOf(raw), profiles))
}

async function open(measured: MeasuredProcess): Promise<Load> {
  try {
    await measured.ready()
    return { measured, drive: (stretch) => measured.drive(stretch) }
  } catch (error) {
    await measured.end()
    throw error
  }
}
