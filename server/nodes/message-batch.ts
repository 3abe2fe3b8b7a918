import type { PortMessage } from '../cluster/message.js'
import type { StreamMessage } from './stream-message.js'
import type { TaskMessage } from './node-tasks.js'
import type { ViewMessage } from './node-view.js'
import type { Seal } from './seal.js'

/** A message to another node, and the part of the node that it is for. */
export type NodeMessage =
  | { readonly for: 'port'; readonly what: PortMessage }
  | { readonly for: 'streams'; readonly what: StreamMessage }
  | { readonly for: 'tasks'; readonly what: TaskMessage }
  | { readonly for: 'view'; readonly what: ViewMessage }

/** Identifies a batch. A batch to or from an incarnation that has ended is void. */
export interface BatchHead {
  readonly from: string
  readonly fromIncarnation: number
  readonly to: string
  readonly toIncarnation: number
  /** From 1, between these two incarnations. */
  readonly number: number
}

/** The messages of one turn of the event loop, sent as one text. */
export interface MessageBatch extends BatchHead {
  readonly messages: readonly NodeMessage[]
}

/** `messages` are texts, as `packMessage` makes them. */
export function writeBatch(head: BatchHead, messages: readonly string[], seal: Seal): string {
  const { from, fromIncarnation, to, toIncarnation, number } = head
  const address = JSON.stringify([from, fromIncarnation, to, toIncarnation, number])
  return seal.close({ kind: 'messages' }, `${address}\n[${messages.join(',')}]`)
}

export function packMessage({ for: part, what }: NodeMessage): string {
  return `${JSON.stringify(part)},${JSON.stringify(what)}`
}

/** Undefined for a text that no node of this cluster has written. */
export function readBatch(text: string, seal: Seal): MessageBatch | undefined {
  return seal.open({ kind: 'messages' }, text, (opened) => {
    const end = opened.indexOf('\n')
    const head: unknown = JSON.parse(opened.slice(0, end))
    const body: unknown = JSON.parse(opened.slice(end + 1))
    if (!isHead(head) || !Array.isArray(body) || body.length % 2 !== 0) return undefined
    const [from, fromIncarnation, to, toIncarnation, number] = head
    return { from, fromIncarnation, to, toIncarnation, number, messages: messagesOf(body) }
  })
}

type Head = [string, number, string, number, number]

function isHead(head: unknown): head is Head {
  const kinds = ['string', 'number', 'string', 'number', 'number']
  return Array.isArray(head) && head.length === 5 && kinds.every((kind, index) => typeof head[index] === kind)
}

/** The body has pairs of part and message. An unknown part is one of a newer version: it is skipped. */
function messagesOf(body: readonly unknown[]): NodeMessage[] {
  const messages: NodeMessage[] = []
  for (let index = 0; index < body.length; index += 2) {
    const [part, what] = [body[index], body[index + 1]]
    if (part === 'port') messages.push({ for: part, what: what as PortMessage })
    else if (part === 'streams') messages.push({ for: part, what: what as StreamMessage })
    else if (part === 'tasks') messages.push({ for: part, what: what as TaskMessage })
    else if (part === 'view') messages.push({ for: part, what: what as ViewMessage })
  }
  return messages
}
