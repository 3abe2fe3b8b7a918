import { basename } from 'node:path'
import { type AnswerOptions, McpError } from 'caduceus'
import { isObject } from '../../protocol/wire/json.js'
import { messageOf } from '../../runtime/base/errors.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import { atExit } from '../../transports/stdio/exit-hook.js'
import { readStdioOptions } from '../../transports/stdio/options.js'
import { killGroupNow, signalGroup, spawnServer } from '../../transports/stdio/spawn.js'
import { UsageError } from '../base/usage-error.js'
import { splitWords } from '../terminal/split-words.js'

type Sample = Extract<NonNullable<AnswerOptions['onSample']>, (...args: never[]) => unknown>
type Sampled = Awaited<ReturnType<Sample>>

/** Bytes that an answer may have. */
const mostBytes = 4 * 1024 * 1024
/** Commands that run at once: a server may ask for many. */
const mostCommands = 4
/** Ms from SIGTERM to SIGKILL. */
const stopTimeout = 1_000

interface Program {
  readonly command: string
  readonly args: readonly string[]
  /** Hears of lines of its standard error, and of failures. */
  readonly tell: (line: string) => void
}

/**
 * Has a command of the user's answer what a server asks a model. It gets the request as JSON on standard
 * input, and writes a text, or a whole result as JSON. It is started without a shell, in a group of its own,
 * which ends with the request. Throws UsageError.
 */
export function samplingBy(
  line: string,
  tell: (line: string) => void,
  world: World = systemWorld,
): Pick<AnswerOptions, 'onSample'> {
  const [command, ...args] = splitWords(line)
  if (command === undefined || command === '') throw new UsageError('--sampling: expected a command')
  const take = gate(mostCommands)
  const onSample: Sample = async (params, { signal }) => {
    const release = await take(signal)
    try {
      const text = await outputOf({ command, args, tell }, JSON.stringify(params), signal, world)
      return resultIn(text) ?? { ...said(text), model: basename(command), stopReason: 'endTurn' }
    } catch (error) {
      if (signal.aborted) throw error
      tell(`caduceus: --sampling: ${messageOf(error)}`)
      // the server hears no more of the user's machine
      throw McpError.internal('The model of this client has failed')
    } finally {
      release()
    }
  }
  return { onSample }
}

function said(text: string): Pick<Sampled, 'role' | 'content'> {
  return { role: 'assistant', content: { type: 'text', text: text.trimEnd() } }
}

/** A text that is a whole result; the client checks it. */
function resultIn(text: string): Sampled | undefined {
  if (!text.trimStart().startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    const isResult = isObject(value) && value.role !== undefined && value.content !== undefined
    return isResult ? ({ model: 'unknown', ...value } as unknown as Sampled) : undefined
  } catch {
    return undefined // a text that begins with a brace
  }
}

/** Lets so many in at once; the others wait until one is released, or nobody wants them any more. */
function gate(most: number): (signal: AbortSignal) => Promise<() => void> {
  const waiting = new Set<() => void>()
  let running = 0
  const release = (): void => {
    running -= 1
    const [next] = waiting
    next?.()
  }
  return async (signal) => {
    while (running >= most)
      await new Promise<void>((resolve, reject) => {
        const settle = (done: () => void) => () => {
          waiting.delete(enter)
          signal.removeEventListener('abort', leave)
          done()
        }
        const enter = settle(resolve)
        const leave = settle(() => reject(signal.reason))
        waiting.add(enter)
        signal.addEventListener('abort', leave)
        if (signal.aborted) leave()
      })
    running += 1
    return release
  }
}

/** What the program writes. Rejects where it fails, writes too much, or is not waited for any more. */
function outputOf(
  { command, args, tell }: Program,
  input: string,
  signal: AbortSignal,
  world: World,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const own = Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    )
    const child = spawnServer(readStdioOptions({ command, args, env: Object.fromEntries(own) }))
    const chunks: Buffer[] = []
    let length = 0
    let stopped: unknown
    let late: unknown
    let left: unknown
    const killNow = (): void => killGroupNow(child)
    const stop = (why: unknown): void => {
      if (stopped !== undefined) return
      stopped = why
      signalGroup(child, 'SIGTERM')
      late = world.setTimeout(killNow, stopTimeout)
    }
    const aborted = (): void => stop(signal.reason)
    const forget = atExit(killNow)
    const over = (settle: () => void): void => {
      world.clearTimeout(late)
      world.clearTimeout(left)
      signal.removeEventListener('abort', aborted)
      forget()
      settle()
    }
    signal.addEventListener('abort', aborted)
    if (signal.aborted) aborted()
    child.once('error', (error) =>
      over(() => reject(new Error(`${command} cannot be started: ${error.message}`))),
    )
    child.stdin.on('error', () => {}) // one that reads nothing may answer all the same
    child.stdin.end(input)
    child.stderr.setEncoding('utf8').on('data', (text: string) => tell(text.trimEnd()))
    child.stdout.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > mostBytes) stop(new Error(`${command} answers with more than ${mostBytes} bytes`))
      else chunks.push(chunk)
    })
    child.once('exit', () => {
      // what it has started may hold the pipes for ever
      killNow()
      left = world.setTimeout(() => {
        child.stdout.destroy()
        child.stderr.destroy()
      }, stopTimeout)
    })
    child.once('close', (code, ended) =>
      over(() => {
        if (stopped !== undefined) reject(stopped)
        else if (code !== 0) reject(new Error(`${command} ended with ${ended ?? `exit code ${code}`}`))
        else resolve(Buffer.concat(chunks).toString())
      }),
    )
  })
}
