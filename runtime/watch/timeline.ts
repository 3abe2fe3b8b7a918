import { cut } from '../base/cut.js'
import { messageOf, stackOf } from '../base/errors.js'
import { formatReason } from '../base/exit.js'
import { blockedText } from '../faults/blocked-text.js'
import { subscribe } from '../faults/events.js'

/** Something that happened to a process, in words. */
export interface Happening {
  /** Rises by one. */
  readonly id: number
  /** Milliseconds since 1970. */
  readonly at: number
  readonly what: 'crash' | 'end' | 'restart' | 'gave up' | 'stray error' | 'warning' | 'blocked' | 'client'
  readonly tree: number | undefined
  /** The name of the process, client or session. */
  readonly name: string
  /** The number of the process, where one is meant. */
  readonly process?: number | undefined
  readonly text: string
  /** Frames of a crash, innermost first, without those of Node. */
  readonly stack?: readonly string[]
}

/** How many happenings are kept. */
const kept = 200
const stackLines = 8
const textLength = 500
/** Frames are at the end of a stack, after a message of any length. */
const stackLength = 64 * 1024

/**
 * Keeps what died and what came back, of all trees of this process of Node but `leaveOut`, until it is
 * released. `date` tells the time in ms since 1970; `told` hears of each.
 */
export class Timeline implements Disposable {
  readonly #all: Happening[] = []
  readonly #undo: (() => void)[] = []
  readonly #date: () => number
  readonly #leaveOut: ReadonlySet<number>
  readonly #tell: (happening: Happening) => void
  #last = 0

  constructor(
    date: () => number,
    leaveOut: ReadonlySet<number>,
    told: (happening: Happening) => void = () => {},
  ) {
    this.#date = date
    this.#leaveOut = leaveOut
    this.#tell = told
    const add = (happening: Omit<Happening, 'id' | 'at'>): void => this.add(happening)
    this.#undo.push(
      subscribe('crash', ({ tree, name, id, reason, during, mailbox }) => {
        const lost = mailbox > 0 ? `, ${mailbox} waiting messages are lost` : ''
        const stack = reason.type === 'crash' ? framesOf(reason.error) : []
        const text = `${formatReason(reason)} (in ${during}${lost})`
        add({ what: 'crash', tree, name, process: id, text, ...(stack.length > 0 && { stack }) })
      }),
      subscribe('supervisor', ({ tree, supervisor, context, reason, child }) => {
        const about = { tree, name: child.id, process: child.process }
        if (reason === 'reached_max_restart_intensity')
          add({
            what: 'gave up',
            tree,
            name: supervisor,
            text: 'too many restarts: it ends, with all below it',
          })
        else if (context === 'start_error')
          add({ what: 'end', ...about, text: `cannot start: ${formatReason(reason)}` })
        // its crash was reported already
        else if (reason.type !== 'crash') add({ what: 'end', ...about, text: formatReason(reason) })
      }),
      subscribe('progress', ({ tree, supervisor, child, restarted }) => {
        if (restarted)
          add({
            what: 'restart',
            tree,
            name: child.id,
            process: child.process,
            text: `runs again, below ${supervisor}`,
          })
      }),
      subscribe('stray', ({ tree, error, owner, outcome }) => {
        // reported as a crash
        if (outcome === 'failed') return
        const stack = framesOf(error)
        const name = owner ?? 'nobody'
        add({ what: 'stray error', tree, name, text: messageOf(error), ...(stack.length > 0 && { stack }) })
      }),
      subscribe('notice', ({ tree, name, id, notice }) =>
        add({ what: 'warning', tree, name, process: id, text: notice.replaceAll('_', ' ') }),
      ),
      subscribe('blocked', ({ tree, owner, ...facts }) => {
        const named = owner === undefined ? undefined : { name: owner, ...facts }
        add({
          what: 'blocked',
          tree,
          name: owner ?? 'event loop',
          text: blockedText({ ...facts, owner: named }),
        })
      }),
    )
  }

  /** The last 200, oldest first. */
  get all(): readonly Happening[] {
    return this.#all
  }

  /** `at`: where it was told of later. */
  add({ name, text, ...facts }: Omit<Happening, 'id' | 'at'>, at = this.#date()): void {
    if (facts.tree !== undefined && this.#leaveOut.has(facts.tree)) return
    this.#last += 1
    const shown = { name: cut(name, textLength), text: cut(text, textLength) }
    const happening = { id: this.#last, at, ...facts, ...shown }
    this.#all.push(happening)
    if (this.#all.length > kept) this.#all.shift()
    this.#tell(happening)
  }

  [Symbol.dispose](): void {
    for (const undo of this.#undo.splice(0)) undo()
  }
}

function framesOf(error: unknown): readonly string[] {
  const frames = stackOf(error)
    .slice(-stackLength)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at ') && !line.includes('node:internal'))
  return frames.slice(0, stackLines).map((line) => cut(line.slice('at '.length), textLength))
}
