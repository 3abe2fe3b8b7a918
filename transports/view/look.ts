import { lstatSync, rmSync } from 'node:fs'
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { isObject } from '../../protocol/wire/json.js'
import { handled } from '../../runtime/base/promise.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import { waitWithin } from '../../runtime/time/wait.js'
import { TransportError } from '../base/errors.js'
import { badOption } from '../base/read-option.js'
import type { Changes, Picture } from './picture.js'

/** An update for a viewer of a program. */
export interface Sight {
  /** All of it: first, and again after this side could not keep up. */
  picture(picture: Picture): void
  changes(changes: Changes): void
}

/**
 * Looks at a program of this machine, by the path that `observedPrograms` or `observe` tells. Resolves when
 * it ends, or when `signal` is aborted. Rejects with TransportError CONNECT_FAILED when nobody listens there,
 * CLIENT_LIMIT when as many look as may, BAD_RESPONSE when something else does, and BAD_OPTION.
 */
export function lookAt(path: string, sight: Sight, signal?: AbortSignal): Promise<void> {
  return handled(look(path, sight, signal))
}

async function look(path: string, sight: Sight, signal: AbortSignal | undefined): Promise<void> {
  if (path === '') throw badOption('path', 'the path of a socket', path)
  const response = await open(path, '/events', signal)
  if (response === undefined) return
  if (response.statusCode !== 200) {
    response.destroy()
    throw new TransportError('CLIENT_LIMIT', `${path}: as many look at it as may: end one of them`, {
      retryable: true,
    })
  }
  // joined once its end is there: a picture comes in thousands of chunks
  let parts: string[] = []
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      const isEnd = chunk.includes('\n\n') || (chunk.startsWith('\n') && parts.at(-1)?.endsWith('\n'))
      parts.push(chunk)
      if (!isEnd) continue
      const events = parts.join('').split('\n\n')
      parts = [events.pop() ?? '']
      for (const event of events) take(event, path, sight)
    }
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException
    // the program has ended, or this side has seen enough
    if (code !== 'ECONNRESET' && name !== 'AbortError') throw error
  }
}

function take(event: string, path: string, sight: Sight): void {
  const [, name, data = ''] = /^event: (picture|changes)\ndata: (.*)$/s.exec(event) ?? []
  if (name === undefined) return
  const value = parsed(data)
  if (value === undefined) throw new TransportError('BAD_RESPONSE', `${path}: what it tells is no picture`)
  if (name === 'picture') sight.picture(value as unknown as Picture)
  else sight.changes(value as unknown as Changes)
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Undefined once `signal` is aborted. */
function open(path: string, target: string, signal?: AbortSignal): Promise<IncomingMessage | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: path, path: target, ...(signal !== undefined && { signal }) })
    asked.once('response', resolve)
    asked.once('error', (cause) => {
      if (signal?.aborted === true) return resolve(undefined)
      const message = `nobody can be looked at by ${path}: ${cause.message}`
      reject(new TransportError('CONNECT_FAILED', message, { cause }))
    })
    asked.end()
  })
}

function request(options: RequestOptions): ClientRequest {
  return process.getBuiltinModule('node:http').request(options)
}

/** Whether a program listens there, if only in a while; removes the socket that a killed one has left. */
export function isObserved(path: string, world: World = systemWorld): Promise<boolean> {
  // one that is blocked is the one to look at
  return waitWithin<boolean>({ clock: world, ms: 1_000, late: () => true }, (resolve) => {
    const asked = request({ socketPath: path, method: 'HEAD', path: '/' })
    asked.once('response', () => resolve(true))
    asked.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED') removeSocket(path)
      resolve(false)
    })
    asked.end()
    return () => void asked.destroy()
  })
}

function removeSocket(path: string): void {
  try {
    if (lstatSync(path).isSocket()) rmSync(path)
  } catch (error) {
    // somebody else has removed it, or it is somebody else's
    if (!['ENOENT', 'EACCES', 'EPERM'].includes(String((error as NodeJS.ErrnoException).code))) throw error
  }
}
