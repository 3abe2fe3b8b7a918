import type { Question } from '../../protocol/dialects/capabilities.js'
import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { ServerError } from '../base/errors.js'
import { Sealing, sealedLength } from '../base/sealing.js'
import type { World } from '../../runtime/time/world.js'
import type { FinishedSteps } from '../context/steps.js'

export interface QuestionAnswer {
  readonly method: Question
  readonly result: JsonObject
}

export interface CallState {
  readonly call: string
  readonly round: number
  readonly asked: ReadonlyMap<string, Question>
  /** All answers under each key, oldest first: a question is asked again if its answer did not fit. */
  readonly answers: ReadonlyMap<string, readonly QuestionAnswer[]>
  readonly steps: FinishedSteps
}

/** Bytes of a state before it is sealed. */
const maxBytes = 64 * 1024
/** Milliseconds until a state expires, at most. */
const maxLifetime = 24 * 60 * 60_000
const format = 1

/**
 * Seals the state of a call into `requestState` of 2026-07-28, and opens what clients return (specification:
 * mrtr).
 */
export class RequestStates {
  readonly #sealing: Sealing
  readonly #server: string
  readonly #world: World

  constructor({ sealing, server, world }: RequestStatesOptions) {
    this.#sealing = sealing
    this.#server = server
    this.#world = world
  }

  /**
   * Only a request of this digest opens it, for `lifetime` ms (24 h at most). Throws BAD_STATE over 64 KiB.
   */
  seal(state: CallState, digest: string, lifetime: number): string {
    const { call, round, asked, answers, steps } = state
    const expiresAt = this.#world.date() + Math.min(lifetime, maxLifetime)
    const content = [format, expiresAt, call, round, [...asked], [...answers], [...steps]]
    const plain = Buffer.from(JSON.stringify(content))
    if (plain.length <= maxBytes) return this.#sealing.seal(plain, this.#about(digest), this.#world)
    const problem = `answers and steps (ctx.once) of a call: expected ${maxBytes} bytes at most, got ${plain.length}`
    throw new ServerError('BAD_STATE', problem)
  }

  /**
   * The state. Throws McpError -32602 if it was changed, has expired, or is of another request, user or
   * server.
   */
  open(text: string, digest: string): CallState {
    const plain =
      text.length <= sealedLength(maxBytes) ? this.#sealing.open(text, this.#about(digest)) : undefined
    const opened = plain === undefined ? undefined : decode(plain)
    if (opened === undefined)
      throw refused('expected what the last answer to this very request came with, unchanged')
    if (opened.expiresAt <= this.#world.date())
      throw refused('it has expired: make the request again without it')
    return opened.state
  }

  #about(digest: string): string {
    return `caduceus request state ${digest} ${this.#server}`
  }
}

/** A sealing with keys for request states only. Throws BAD_OPTION. */
export function sealRequestStates(secrets: unknown): Sealing {
  return new Sealing(secrets, { purpose: 'caduceus request states', field: 'keys' })
}

interface RequestStatesOptions {
  readonly sealing: Sealing
  /** The name of the definition: other servers cannot open its states. */
  readonly server: string
  readonly world: World
}

function decode(plain: Buffer): { readonly expiresAt: number; readonly state: CallState } | undefined {
  const [version, expiresAt, call, round, asked, answers, steps] = JSON.parse(plain.toString())
  if (version !== format) return undefined
  // a step without a value is null in JSON: its entry is text otherwise
  const texts = steps.map(([key, text]: [string, string | null]) => [key, text ?? undefined])
  return {
    expiresAt,
    state: { call, round, asked: new Map(asked), answers: new Map(answers), steps: new Map(texts) },
  }
}

function refused(problem: string): McpError {
  return new McpError(errorCodes.invalidParams, `requestState: ${problem}`)
}
