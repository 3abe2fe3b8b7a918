import { RuntimeError } from '../../runtime/base/errors.js'
import type { ActorContext } from '../../runtime/process/context.js'
import type { Bell, ClusterEngine, ClusterSettings, Engine } from '../engine/engine.js'
import type { SealedIds } from '../engine/sealed-ids.js'
import { encodeWithin } from '../engine/session-file.js'
import type { SessionRecord } from '../engine/session-store.js'
import { unavailable } from '../nodes/unavailable.js'
import type { EngineCall, EngineMethod, HostRef } from './host.js'

/** The engine of the program, as described to a process; plain data. */
export interface HostedPlan {
  /** As errors and reports call it. */
  readonly name: string
  readonly settings: ClusterSettings
  /** Bytes of one session; undefined: no bound that is known here. */
  readonly maxBytes?: number | undefined
}

/** Milliseconds that the program has for an answer: it may have to ask a store. */
const answerTime = 6_000

/** The engine that the program hosts which started this process: what is asked of it is asked there. */
export class HostedEngine implements ClusterEngine {
  readonly name: string
  readonly settings: ClusterSettings
  readonly ids: SealedIds | undefined
  readonly #host: HostRef
  readonly #maxBytes: number | undefined
  readonly #onBell = new Set<(bell: Bell) => void>()

  constructor({ name, settings, maxBytes }: HostedPlan, host: HostRef, ids: SealedIds | undefined) {
    this.name = name
    this.settings = settings
    this.ids = ids
    this.#host = host
    this.#maxBytes = maxBytes
  }

  check(record: SessionRecord): void {
    if (this.#maxBytes !== undefined) encodeWithin(record, this.#maxBytes)
  }

  async open(ctx: ActorContext): Promise<Engine> {
    // without the program this process ends: nothing else closes it
    let isOpen = true
    ctx.own(() => {
      isOpen = false
    })
    const ask = async (call: EngineCall): Promise<unknown> => {
      if (!isOpen) throw unavailable(this.name, `${this.name} is closed`)
      return this.#ask(call)
    }
    const asks = Object.fromEntries(
      methods.map((method) => [method, (...args: readonly unknown[]) => ask({ method, args } as never)]),
    )
    return {
      ...(asks as unknown as Pick<Engine, EngineMethod>),
      get isUp() {
        return isOpen
      },
      risk: undefined,
      onHealth: () => () => {},
      onBell: (fn) => {
        this.#onBell.add(fn)
        return () => void this.#onBell.delete(fn)
      },
    }
  }

  /** The program says that there is something to look for. */
  ring(bell: Bell): void {
    for (const fn of this.#onBell) fn(bell)
  }

  async #ask(call: EngineCall): Promise<unknown> {
    try {
      return await this.#host.call('do', call, { timeout: answerTime })
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error
      throw unavailable(this.name, `${this.name} cannot be reached: ${error.message}`)
    }
  }
}

/** Typed so that a new method of engines is missed here. */
const methods = Object.keys({
  beat: true,
  leave: true,
  claim: true,
  reclaim: true,
  release: true,
  ownerOf: true,
  load: true,
  save: true,
  delete: true,
  touch: true,
  orphans: true,
  versions: true,
  listed: true,
  send: true,
  take: true,
  takeBack: true,
  publish: true,
  news: true,
  agree: true,
  value: true,
  setValue: true,
  placeLog: true,
  placeOfLog: true,
  append: true,
  closeStream: true,
  dropStream: true,
} satisfies Readonly<Record<EngineMethod, true>>)
