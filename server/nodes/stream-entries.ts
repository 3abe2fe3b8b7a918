import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import type { StreamKind, StreamReport } from '../../transports/contract/shared-streams.js'
import type { StreamEntry, StreamPlace } from '../engine/engine.js'
import type { Seal, SealedAs } from './seal.js'

/** The content of one entry of a stream in the engine. */
export type StreamRecord =
  /** The stream is there, and where it is: what came before need not be kept. */
  | { readonly type: 'begun' }
  | { readonly type: 'event'; readonly data?: string | undefined; readonly isLast?: boolean | undefined }
  /** It has ended without an event. */
  | { readonly type: 'ended' }

/** What was read of a stream: its reports, as the log gave them that began it. */
type ReadStream = readonly Extract<StreamReport, { readonly type: 'began' | 'event' | 'ended' }>[]

type Written = StreamRecord & {
  /** Of the last event, this one included. */
  readonly number: number
  readonly requestId?: RequestId | undefined
}

/** Of entries after the same event the one that comes later has the higher number. */
const order: { readonly [Type in StreamRecord['type']]: number } = { event: 0, begun: 1, ended: 2 }

/** Writes an entry of a stream. Each says whose answer is awaited there, as it may be the first that is left. */
export function writeEntry(
  place: StreamPlace,
  kept: StreamRecord,
  { number, requestId, seal }: { number: number; requestId: RequestId | undefined; seal: Seal },
): StreamEntry {
  const written: Written = { number, requestId, ...kept }
  const text = seal.close(sealedAs(place), JSON.stringify(written))
  return { number: number * 3 + order[kept.type], text }
}

/**
 * Reads what is left of a stream; undefined when nothing is. Entries may have come twice, and older ones again.
 * Entries before a gap are left out: a client must not miss events without notice.
 */
export function readEntries(
  log: string,
  place: StreamPlace,
  { entries, seal }: { readonly entries: readonly StreamEntry[]; readonly seal: Seal },
): ReadStream | undefined {
  const { session, stream } = place
  const byNumber = new Map(entries.map((entry) => [entry.number, entry]))
  const sorted = [...byNumber.values()].sort((one, other) => one.number - other.number)
  let [after, last, isEnded] = [0, 0, false]
  let requestId: RequestId | undefined
  let events: Extract<StreamReport, { readonly type: 'event' }>[] = []
  let isThere = false
  for (const { text } of sorted) {
    const read = seal.open(sealedAs(place), text, (opened) => JSON.parse(opened) as Written)
    if (read === undefined) continue
    const { number } = read
    if (!isThere || number > last + (read.type === 'event' ? 1 : 0)) {
      after = read.type === 'event' ? number - 1 : number
      events = []
    }
    isThere = true
    last = number
    requestId = read.requestId
    if (read.type === 'event') {
      const { data, isLast } = read
      events.push({ type: 'event', stream, number, data, isLast })
    } else if (read.type === 'ended') isEnded = true
  }
  if (!isThere) return undefined
  const kind: StreamKind = stream.startsWith('c') ? 'call' : 'listen'
  const began = { type: 'began', log, sessionId: session, stream, kind, requestId, after } as const
  return [began, ...events, ...(isEnded ? [{ type: 'ended', stream } as const] : [])]
}

/** What is written to a stream is of no other, and of no other session. */
function sealedAs({ session, stream }: StreamPlace): SealedAs {
  return { kind: 'event', place: `${stream}\n${session}` }
}
