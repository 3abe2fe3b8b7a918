import { messageOf, openConnection, post, postHead } from './connection.js'
import { drive } from './drive.js'
import type { Load } from './load.js'
import { checkModernEcho, modernEchoCall } from './messages.js'
import { startServerProcess } from './measured-process.js'

const connections = 16

/** Streamable HTTP of 2026-07-28, without sessions, on 16 connections; a request is a call of `echo`, beside which there are `more` tools. */
export async function openModern(module: string, more: number, profiles?: string): Promise<Load> {
  const server = startServerProcess({ module, transport: 'modern', more, profiles })
  try {
    const port = await server.ready()
    if (port === undefined) throw new Error('the server has no port')
    const lanes = await Promise.all(Array.from({ length: connections }, () => openLane(port)))
    return { measured: server, drive: (stretch) => drive(lanes, stretch) }
  } catch (error) {
    await server.end()
    throw error
  }
}

/** Opens a connection; every call of the returned function is a request on it. */
async function openLane(port: number): Promise<() => Promise<void>> {
  const connection = await openConnection(port)
  const head = postHead(port, {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'echo',
  })
  let last = 0
  return async () => {
    const id = ++last
    const answer = await connection.ask(post(head, modernEchoCall(id)))
    if (answer.status !== 200) throw new Error(`echo: status ${answer.status}: ${answer.body}`)
    checkModernEcho(messageOf(answer), id)
  }
}
