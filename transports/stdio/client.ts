import { basename } from 'node:path'
import type { Message } from '../../protocol/wire/jsonrpc.js'
import { createLineDecoder, type LineDecoder, type LineItem } from '../../protocol/wire/lines.js'
import type { ClientTransport, Link, LinkEvents, LinkScope } from '../contract/contract.js'
import { TransportError } from '../base/errors.js'
import { notSent, sendable, tellSkipped } from '../contract/message-sizes.js'
import { readStdioOptions, type StdioOptions, type StdioSettings } from './options.js'
import { atExit } from './exit-hook.js'
import {
  explainSpawnError,
  groupLives,
  killGroupNow,
  type ServerProcess,
  signalGroup,
  spawnServer,
} from './spawn.js'
import { createStderrRing, type StderrRing, tellingLine } from './stderr.js'

/**
 * A server as a child process, one for each connection, that speaks over its standard input and output
 * (specification: transports, stdio). Throws BAD_OPTION, naming the field. A command that is not found is
 * fatal (COMMAND_NOT_FOUND); a process that ends tells PROCESS_EXITED with
 * `data: { exitCode, signal, stderr }`.
 */
export function stdio(options: StdioOptions): ClientTransport {
  const settings = readStdioOptions(options)
  return Object.freeze({
    name: `stdio ${basename(settings.command)}`,
    spawns: true,
    connect: (events: LinkEvents, scope: LinkScope) => new StdioLink(settings, events, scope),
  })
}

/** Milliseconds after the exit in which the pipes may still bring what was written before it. */
const drainTime = 100
/** Milliseconds that what a server started may take to end after it, before it is killed. */
const groupTime = 500

/** Characters of one turn that are gathered before they are written. */
const longestTurn = 64 * 1024
/** Characters that are written at once: more of a line is copied in the next turn. */
const piece = 256 * 1024

/** A line that is written later, or no line as it is found to be too long then. */
interface LaterLine {
  readonly length: number
  line(): string | undefined
}

class StdioLink implements Link {
  readonly #settings: StdioSettings
  readonly #events: LinkEvents
  readonly #scope: LinkScope
  readonly #child: ServerProcess
  readonly #lines: LineDecoder
  readonly #stderr: StderrRing
  /** Lines of this turn, which are written together. */
  #unwritten = ''
  /** Long lines, and what came after them: written in pieces, each in a turn of the event loop. */
  readonly #later: LaterLine[] = []
  #laterLength = 0
  #isWriting = false
  #timer: unknown
  #stopping = false
  #over = false
  #error: TransportError | undefined
  #exit: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined

  constructor(settings: StdioSettings, events: LinkEvents, scope: LinkScope) {
    this.#settings = settings
    this.#events = events
    this.#scope = scope
    this.#lines = createLineDecoder({ maxMessageBytes: settings.limits.messageBytes })
    this.#stderr = createStderrRing(lineReader(settings, scope))
    const child = spawnServer(settings)
    this.#child = child
    scope.own(() => this.#kill())
    scope.own(atExit(() => killGroupNow(child)))
    child.once('spawn', () => events.opened({ pid: child.pid }))
    child.once('exit', (code, signal) => this.#exited(code, signal))
    child.on('error', (error) => this.#failed(error))
    child.stdout.on('data', (chunk: Uint8Array) => {
      this.#take(this.#lines.push(chunk))
      this.#catchUp(events.room())
    })
    child.stdout.once('end', () => this.#broke('the server closed its standard output'))
    child.stdin.on('error', () => this.#broke('the server does not read its standard input any more'))
    child.stderr.on('data', (chunk: Uint8Array) => this.#hear(chunk))
    for (const pipe of [child.stdout, child.stderr]) pipe.on('error', () => {})
  }

  send(text: string, message: Message): void {
    const { stdin } = this.#child
    const waiting = this.queuedBytes
    if (stdin.writable && waiting < this.#settings.limits.queuedBytes) {
      const line = (): string | undefined =>
        sendable(text, message, this.#settings.limits.messageBytes, this.#events)
      if (text.length > piece) return this.#writeLater({ length: text.length, line })
      const known = line()
      if (known !== undefined) this.#write(known)
      return
    }
    const error = stdin.writable
      ? new TransportError('SEND_FAILED', `${waiting} bytes wait to be read by the server already`, {
          retryable: true,
        })
      : new TransportError('NOT_OPEN', 'the server takes no more messages', { retryable: true })
    notSent(message, error, this.#events)
  }

  get queuedBytes(): number {
    return this.#child.stdin.writableLength + this.#unwritten.length + this.#laterLength
  }

  close(): void {
    this.#stop()
  }

  #write(line: string): void {
    if (this.#isWriting) return this.#writeLater({ length: line.length, line: () => line })
    if (this.#unwritten === '') this.#scope.world.setImmediate(() => this.#flush())
    this.#unwritten += `${line}\n`
    // bytes are counted by the pipe, characters here: never many of these
    if (this.#unwritten.length >= longestTurn) this.#flush()
  }

  #flush(): void {
    const lines = this.#unwritten
    if (lines === '') return
    this.#unwritten = ''
    this.#child.stdin.write(lines)
  }

  #writeLater(line: LaterLine): void {
    this.#flush()
    this.#later.push(line)
    this.#laterLength += line.length
    if (this.#isWriting) return
    this.#isWriting = true
    this.#scope.world.setImmediate(() => this.#writeNext())
  }

  #writeNext(): void {
    const next = this.#later.shift()
    const { stdin } = this.#child
    if (next === undefined || !stdin.writable) {
      this.#isWriting = false
      return
    }
    this.#laterLength -= next.length
    const text = next.line()
    const goOn = (): void => void this.#scope.world.setImmediate(() => this.#writeNext())
    if (text === undefined) return goOn()
    if (text.length <= piece) {
      stdin.write(`${text}\n`, goOn)
      return
    }
    // no character is split
    const end = /[\ud800-\udbff]/.test(text.charAt(piece - 1)) ? piece - 1 : piece
    const rest = text.slice(end)
    this.#later.unshift({ length: rest.length, line: () => rest })
    this.#laterLength += rest.length
    stdin.write(text.slice(0, end), goOn)
  }

  /** Ends the process in stages: end of input, SIGTERM to its group, SIGKILL. */
  #stop(): void {
    if (this.#stopping || this.#exit !== undefined) return
    this.#stopping = true
    const { clock } = this.#scope
    const { stopTimeout } = this.#settings
    clock.clearTimeout(this.#timer)
    this.#flush()
    for (const { line } of this.#later.splice(0)) {
      const text = line()
      if (text !== undefined) this.#child.stdin.write(`${text}\n`)
    }
    this.#child.stdin.end()
    this.#timer = clock.setTimeout(() => {
      signalGroup(this.#child, 'SIGTERM')
      this.#timer = clock.setTimeout(() => signalGroup(this.#child, 'SIGKILL'), stopTimeout)
    }, stopTimeout)
  }

  /** A pipe broke. The process is probably ending, which its exit tells; if not, it is killed. */
  #broke(why: string): void {
    if (this.#over || this.#stopping || this.#exit !== undefined || this.#timer !== undefined) return
    this.#timer = this.#scope.clock.setTimeout(() => {
      this.#discard(new TransportError('CONNECTION_LOST', why, { retryable: true, data: this.#facts() }))
    }, drainTime)
  }

  #discard(error: TransportError): void {
    if (this.#exit !== undefined) return
    this.#error ??= error
    signalGroup(this.#child, 'SIGKILL')
  }

  #take(items: readonly LineItem[]): void {
    for (const item of items) {
      if (item.type === 'line') this.#events.message(item.text)
      else if (item.type === 'invalid') this.#events.trouble(badLine(item.error))
      else tellSkipped(item.error, this.#events, (text) => this.#write(text))
    }
  }

  /** A client that cannot keep up lets its server wait: the pipe fills, and then it does. */
  #catchUp(room: Promise<void> | undefined): void {
    if (room === undefined) return
    const { stdout } = this.#child
    stdout.pause()
    void room.then(() => stdout.resume())
  }

  #hear(chunk: Uint8Array): void {
    this.#stderr.push(chunk)
    if (this.#settings.stderr === 'inherit') process.stderr.write(chunk)
  }

  #failed(cause: NodeJS.ErrnoException): void {
    // After the start an `error` means that a signal could not be sent: the group may be gone.
    if (this.#child.pid !== undefined || this.#over) return
    this.#over = true
    this.#events.closed(explainSpawnError(cause, this.#settings))
  }

  /** The exit decides, not the end of the pipes: a grandchild may hold those open for ever. */
  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    const { clock } = this.#scope
    this.#exit = { code, signal }
    clock.clearTimeout(this.#timer)
    signalGroup(this.#child, this.#stopping ? 'SIGTERM' : 'SIGKILL')
    this.#child.once('close', () => this.#drained())
    this.#timer = clock.setTimeout(() => this.#drained(), drainTime)
  }

  /** What the server wrote has been read. What it started gets a moment to end, if the end was asked for. */
  #drained(): void {
    const { clock } = this.#scope
    clock.clearTimeout(this.#timer)
    if (this.#stopping && groupLives(this.#child))
      this.#timer = clock.setTimeout(() => this.#end(), groupTime)
    else this.#end()
  }

  #end(): void {
    if (this.#over) return
    this.#over = true
    this.#take(this.#lines.end())
    this.#letGo()
    if (this.#error === undefined && this.#stopping) this.#events.closed({})
    else this.#events.closed({ error: this.#exitError() })
  }

  #letGo(): void {
    const { stdin, stdout, stderr } = this.#child
    signalGroup(this.#child, 'SIGKILL')
    for (const pipe of [stdin, stdout, stderr]) pipe.destroy()
  }

  /** The connection's actor died: there is no time for stages. */
  #kill(): Promise<void> | undefined {
    const child = this.#child
    this.#scope.clock.clearTimeout(this.#timer)
    this.#over = true
    this.#letGo()
    if (
      this.#exit !== undefined ||
      child.pid === undefined ||
      child.exitCode !== null ||
      child.signalCode !== null
    )
      return undefined
    return new Promise((resolve) => child.once('exit', () => resolve()))
  }

  #exitError(): TransportError {
    if (this.#error !== undefined) return this.#error
    const { code, signal } = this.#exit ?? { code: null, signal: null }
    const how = signal === null ? `exited with code ${code}` : `was ended by ${signal}`
    const said = tellingLine(this.#stderr.lines())
    const message = `${this.#settings.command} ${how}${said === undefined ? '' : `; it said: ${said}`}`
    return new TransportError('PROCESS_EXITED', message, { retryable: true, data: this.#facts() })
  }

  #facts(): { exitCode: number | null; signal: NodeJS.Signals | null; stderr: readonly string[] } {
    return {
      exitCode: this.#exit?.code ?? null,
      signal: this.#exit?.signal ?? null,
      stderr: this.#stderr.lines(),
    }
  }
}

function lineReader({ stderr }: StdioSettings, scope: LinkScope): ((line: string) => void) | undefined {
  return typeof stderr === 'function' ? scope.bind(stderr) : undefined
}

function badLine(cause: Error): TransportError {
  return new TransportError('BAD_RESPONSE', `the server wrote a line that is no message: ${cause.message}`, {
    cause,
  })
}
