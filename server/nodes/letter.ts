import type { Envelope } from '../cluster/envelope.js'
import type { Said } from './said.js'
import type { TaskWord } from './node-tasks.js'
import type { ViewWord } from './node-view.js'
import type { Seal } from './seal.js'

/** What one node has for another, by the part of it that it is for. */
export type Parcel =
  | { readonly for: 'port'; readonly what: Envelope }
  | { readonly for: 'streams'; readonly what: Said }
  | { readonly for: 'tasks'; readonly what: TaskWord }
  | { readonly for: 'view'; readonly what: ViewWord }

/** Which letter it is. Incarnations are those that the sender knew: a letter to or of an earlier one is void. */
export interface LetterHead {
  readonly from: string
  readonly fromIncarnation: number
  readonly to: string
  readonly toIncarnation: number
  /** From 1, between these two incarnations. */
  readonly number: number
}

export interface Letter extends LetterHead {
  readonly parcels: readonly Parcel[]
}

/** `parcels` are texts, as `packParcel` makes them. */
export function writeLetter(head: LetterHead, parcels: readonly string[], seal: Seal): string {
  const { from, fromIncarnation, to, toIncarnation, number } = head
  const address = JSON.stringify([from, fromIncarnation, to, toIncarnation, number])
  return seal.close({ kind: 'letter' }, `${address}\n[${parcels.join(',')}]`)
}

export function packParcel({ for: part, what }: Parcel): string {
  return `${JSON.stringify(part)},${JSON.stringify(what)}`
}

/** Undefined for what no node of this cluster has written. */
export function readLetter(text: string, seal: Seal): Letter | undefined {
  return seal.open({ kind: 'letter' }, text, (opened) => {
    const end = opened.indexOf('\n')
    const head: unknown = JSON.parse(opened.slice(0, end))
    const body: unknown = JSON.parse(opened.slice(end + 1))
    if (!isHead(head) || !Array.isArray(body) || body.length % 2 !== 0) return undefined
    const [from, fromIncarnation, to, toIncarnation, number] = head
    return { from, fromIncarnation, to, toIncarnation, number, parcels: parcelsOf(body) }
  })
}

type Head = [string, number, string, number, number]

function isHead(head: unknown): head is Head {
  const kinds = ['string', 'number', 'string', 'number', 'number']
  return Array.isArray(head) && head.length === 5 && kinds.every((kind, index) => typeof head[index] === kind)
}

/** In pairs: the part, and what it is told. A part that is not known here is of a newer version: it is left out. */
function parcelsOf(body: readonly unknown[]): Parcel[] {
  const parcels: Parcel[] = []
  for (let index = 0; index < body.length; index += 2) {
    const [part, what] = [body[index], body[index + 1]]
    if (part === 'port') parcels.push({ for: part, what: what as Envelope })
    else if (part === 'streams') parcels.push({ for: part, what: what as Said })
    else if (part === 'tasks') parcels.push({ for: part, what: what as TaskWord })
    else if (part === 'view') parcels.push({ for: part, what: what as ViewWord })
  }
  return parcels
}
