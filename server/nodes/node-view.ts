import type { World } from '../../runtime/time/world.js'
import { Elsewhere, type Question, type Report } from '../../runtime/watch/elsewhere.js'
import { Reporter } from '../../runtime/watch/reporter.js'

/** A message between nodes about the process trees of their programs; plain data. */
export type ViewMessage =
  | { readonly type: 'ask'; readonly question: Question }
  | { readonly type: 'report'; readonly report: Report }

interface NodeViewInput {
  readonly node: string
  readonly world: World
  /** False when there is no room. */
  readonly send: (node: string, message: ViewMessage) => boolean
}

/** Milliseconds between two looks at another node: what is told goes the way of what is urgent. */
const pause = 1_000
/** Rows that are told of. */
const most = 1_000

/**
 * Lets whoever looks at one node see the others. Each tells of its processes while somebody looks. Nobody's
 * process is ended from another node: that is for whoever may do so there.
 */
export class NodeView {
  readonly #input: NodeViewInput
  readonly #others = new Map<string, Elsewhere>()
  /** By the node that looks. */
  readonly #reporters = new Map<string, Reporter>()

  constructor(input: NodeViewInput) {
    this.#input = input
  }

  /** The other ones of these nodes, to be looked at. */
  others(nodes: readonly { readonly name: string }[]): readonly Elsewhere[] {
    const { node, send } = this.#input
    return nodes
      .filter(({ name }) => name !== node)
      .map(({ name }) => {
        const ask = (question: Question): boolean => send(name, { type: 'ask', question })
        const there = this.#others.get(name) ?? new Elsewhere({ ask, node: name, pause })
        this.#others.set(name, there)
        return there
      })
  }

  hear(from: string, message: ViewMessage): void {
    const { world, send } = this.#input
    if (message.type === 'report') return this.#others.get(from)?.take(message.report, world.now())
    const { what } = message.question
    if (what === 'leave') return this.#forget(from)
    if (what !== 'look') return
    const reporter = this.#reporters.get(from) ?? new Reporter({ world, most })
    this.#reporters.set(from, reporter)
    const report = reporter.answer(message.question)
    if (report !== undefined) send(from, { type: 'report', report })
  }

  /** Nothing comes from that node any more of what it was asked before. */
  gone(node: string): void {
    this.#others.delete(node)
    this.#forget(node)
  }

  close(): void {
    for (const node of [...this.#others.keys(), ...this.#reporters.keys()]) this.gone(node)
  }

  #forget(node: string): void {
    this.#reporters.get(node)?.[Symbol.dispose]()
    this.#reporters.delete(node)
  }
}
