import { type Connection, headerOf, messageOf, openConnection, post, postHead } from './connection.js'
import { drive } from './drive.js'
import type { Load } from './load.js'
import { checkEcho, checkInitialize, echoCall, initialize, initialized } from './messages.js'
import { startServerProcess } from './measured-process.js'

const connections = 16

/** Streamable HTTP with a session on each of 16 connections; a request is a call of `echo`. */
export async function openSessions(module: string, profiles?: string): Promise<Load> {
  const server = startServerProcess({ module, transport: 'http', profiles })
  try {
    const port = await server.ready()
    if (port === undefined) throw new Error('the server has no port')
    const numbers = countUp()
    const lanes = await Promise.all(Array.from({ length: connections }, () => openLane(port, numbers)))
    return { measured: server, drive: (stretch) => drive(lanes, stretch) }
  } catch (error) {
    await server.end()
    throw error
  }
}

/** Opens a connection and a session; every call of the returned function is a request in it. */
async function openLane(port: number, nextNumber: () => number): Promise<() => Promise<void>> {
  const connection = await openConnection(port)
  const head = postHead(port, {
    'mcp-session-id': await openSession(connection, port),
    'mcp-protocol-version': '2025-11-25',
  })
  const told = await connection.ask(post(head, initialized))
  if (told.status !== 202) throw new Error(`initialized: status ${told.status}: ${told.body}`)
  return async () => {
    const id = nextNumber()
    const answer = await connection.ask(post(head, echoCall(id)))
    if (answer.status !== 200) throw new Error(`echo: status ${answer.status}: ${answer.body}`)
    checkEcho(messageOf(answer), id)
  }
}

async function openSession(connection: Connection, port: number): Promise<string> {
  const opened = await connection.ask(post(postHead(port), initialize))
  if (opened.status !== 200) throw new Error(`initialize: status ${opened.status}: ${opened.body}`)
  checkInitialize(messageOf(opened))
  const session = headerOf(opened, 'mcp-session-id')
  if (session === undefined) throw new Error('initialize: expected a session id')
  return session
}

function countUp(): () => number {
  let last = 0
  return () => ++last
}
