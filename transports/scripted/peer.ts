import { decode } from '../../protocol/wire/codec.js'
import {
  errorCodes,
  McpError,
  ProtocolError,
  toJsonRpcError,
  unknownMethod,
} from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import {
  buildError,
  buildNotification,
  buildRequest,
  buildResult,
  isRequest,
  isResponse,
  type JsonRpcRequest,
  type Message,
  type RequestId,
} from '../../protocol/wire/jsonrpc.js'
import { outside } from '../../runtime/faults/containment.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import { messageOf } from '../../runtime/base/errors.js'
import { handled } from '../../runtime/base/promise.js'
import { Recording, type WaitOptions, waitFor } from '../../runtime/watch/recording.js'
import { TransportError } from '../base/errors.js'
import { badOption } from '../base/read-option.js'

/** Returns the result of a request, or undefined for no answer; what it throws is the error in the answer. */
export type Answering<Peer> = (
  request: JsonRpcRequest,
  peer: Peer,
) => object | undefined | Promise<object | undefined>

/**
 * The answer to the requests of one method: a result, an error (an McpError as it is, any other as -32603
 * with its message), or a function. A list has one for each request; the last one repeats.
 */
export type ScriptedAnswer<Peer> = object | Answering<Peer> | readonly (object | Answering<Peer>)[]

/** The answers of a scripted peer by method. Other requests get -32601, and `ping` gets `{}`. */
export type Script<Peer> = Readonly<Record<string, ScriptedAnswer<Peer>>>

/** Sends a text; `message` is the same, decoded, if it is a message. */
type Sending = (text: string, message: Message | undefined) => void

interface Question {
  resolve(result: JsonObject): void
  reject(error: unknown): void
}

/** A peer that sends what a test says, keeps no rule of the protocol, and records what it receives. */
export abstract class ScriptedPeer {
  /** Every message that came, in order; a text that is no message is recorded as its ProtocolError. */
  readonly received: Recording<Message | ProtocolError>
  readonly #script: Script<this>
  readonly #world: World
  readonly #asked = new Map<string, number>()
  readonly #questions = new Map<RequestId, Question>()
  #sending: Sending | undefined
  #lastId = 0

  constructor(name: string, script: Script<never>, world: World = systemWorld) {
    if (!isObject(script)) throw badOption('script', 'an object of answers by method', script)
    this.received = new Recording(`what ${name} received`)
    this.#script = script as Script<this>
    this.#world = world
  }

  /** The methods that the script has answers for. */
  get methods(): readonly string[] {
    return Object.keys(this.#script)
  }

  /**
   * The next message of this method (or one that fits), now or later; each is handed out once. Rejects with
   * RuntimeError TIMEOUT after `timeout` ms (default 5000).
   */
  async next(
    what: string | ((message: Message) => boolean),
    options?: WaitOptions,
  ): Promise<{ readonly id?: RequestId; readonly method?: string; readonly params?: JsonObject } & Message> {
    const fits = typeof what === 'function' ? what : (message: Message) => methodOf(message) === what
    const found = await this.received.next((one) => !(one instanceof Error) && fits(one), options)
    return found as Message
  }

  /** Sends a message, or any text as it is. Throws NOT_OPEN while there is no connection. */
  send(message: object | string): void {
    const text = typeof message === 'string' ? message : JSON.stringify(message)
    this.#send(text, readMessageOf(message))
  }

  /** Sends a notification. Throws NOT_OPEN. */
  notify(method: string, params?: object): void {
    this.send(buildNotification(method, params))
  }

  /**
   * Sends a request and resolves with its result. Rejects with McpError when that is the answer, and with
   * TransportError NOT_OPEN, CONNECTION_LOST, or SEND_FAILED when no answer comes within `timeout` ms
   * (default 5000).
   */
  request(method: string, params?: object, options: WaitOptions = {}): Promise<JsonObject> {
    this.#lastId += 1
    const id = `scripted-${this.#lastId}`
    const answered = waitFor<JsonObject>(
      (resolve, reject) => {
        this.#questions.set(id, { resolve, reject })
        this.send(buildRequest(id, method, params))
        return () => void this.#questions.delete(id)
      },
      options,
      (timeout) => new TransportError('SEND_FAILED', `${method}: no answer came within ${timeout} ms`),
    )
    return handled(answered)
  }

  protected attach(sending: Sending): void {
    this.#sending = sending
  }

  /** The connection is over: open requests fail. */
  protected detach(why: string): void {
    this.#sending = undefined
    const error = new TransportError('CONNECTION_LOST', why, { retryable: true })
    const asked = [...this.#questions.values()]
    this.#later(() => {
      for (const { reject } of asked) reject(error)
    })
  }

  protected giveUp(id: RequestId, error: TransportError): void {
    this.#later(() => this.#questions.get(id)?.reject(error))
  }

  /** Takes one text of the other side. */
  protected take(text: string): void {
    const sending = this.#sending
    this.#later(() => this.#read(text, sending))
  }

  /** The answer to a request that the script does not have; undefined for -32601. */
  protected answerUnscripted({ method }: JsonRpcRequest): object | undefined {
    return method === 'ping' ? {} : undefined
  }

  #read(text: string, sending: Sending | undefined): void {
    for (const message of read(text)) {
      this.received.add(message)
      if (message instanceof ProtocolError) continue
      if (isRequest(message)) void this.#answer(message, sending)
      else if (isResponse(message)) this.#settle(message)
    }
  }

  async #answer(request: JsonRpcRequest, sending: Sending | undefined): Promise<void> {
    const { id, method } = request
    const answer = await this.#resultFor(request).then(
      (result) => (result === undefined ? undefined : buildResult(id, result)),
      (error: unknown) => buildError(id, describeError(error)),
    )
    // its connection may have ended meanwhile
    if (answer === undefined || sending !== this.#sending) return
    try {
      sending?.(JSON.stringify(answer), answer)
    } catch (error) {
      const message = `the answer to ${method} has no JSON text: ${messageOf(error)}`
      const failure = buildError(id, { code: errorCodes.internalError, message })
      sending?.(JSON.stringify(failure), failure)
    }
  }

  async #resultFor(request: JsonRpcRequest): Promise<object | undefined> {
    const { method } = request
    const scripted = Object.hasOwn(this.#script, method) ? this.#script[method] : undefined
    if (scripted === undefined) {
      const result = this.answerUnscripted(request)
      if (result === undefined) throw unknownMethod(method)
      return result
    }
    const answer = Array.isArray(scripted) ? scripted[this.#count(method, scripted.length)] : scripted
    if (answer instanceof Error) throw answer
    return typeof answer === 'function' ? answer(request, this) : answer
  }

  /** The index of the next answer in a list. */
  #count(method: string, length: number): number {
    const count = this.#asked.get(method) ?? 0
    this.#asked.set(method, count + 1)
    return Math.min(count, length - 1)
  }

  #settle(message: Message): void {
    if (!('id' in message) || message.id === undefined) return
    const question = this.#questions.get(message.id)
    if (question === undefined) return
    if ('result' in message) question.resolve(message.result)
    else if ('error' in message) {
      const { code, message: text, data } = message.error
      question.reject(new McpError(code, text, { data }))
    }
  }

  /** Keeps the order, and runs the script outside the caller's scope. */
  #later(fn: () => void): void {
    outside(() => this.#world.queueMicrotask(fn))
  }

  #send(text: string, message: Message | undefined): void {
    if (this.#sending === undefined)
      throw new TransportError('NOT_OPEN', 'there is no connection that could be sent on')
    this.#sending(text, message)
  }
}

function read(text: string): readonly (Message | ProtocolError)[] {
  try {
    const decoded = decode(text)
    return 'jsonrpc' in decoded ? [decoded] : decoded
  } catch (error) {
    if (error instanceof ProtocolError) return [error]
    throw error
  }
}

/** What a test sends, if it is one message. */
function readMessageOf(given: object | string): Message | undefined {
  const [message, ...more] = read(typeof given === 'string' ? given : JSON.stringify(given))
  return more.length > 0 || message instanceof ProtocolError ? undefined : message
}

function methodOf(message: Message): string | undefined {
  return 'method' in message ? message.method : undefined
}

function describeError(error: unknown) {
  if (error instanceof McpError) return toJsonRpcError(error)
  return { code: errorCodes.internalError, message: messageOf(error) }
}
