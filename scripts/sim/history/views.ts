import type { CallFail, CallOk, Cancel, Event, EventOf, Invoke, Ran, RanTo } from './history.js'

/** An event, and where it stands in the history. */
export type Placed<E> = E & { readonly index: number; readonly at: number }

/** All that a history says of one call. */
export interface CallView {
  readonly invoke: Placed<Invoke>
  /** Its ends: one, if all is right. */
  readonly ends: readonly Placed<CallOk | CallFail>[]
  readonly cancel: Placed<Cancel> | undefined
  readonly runs: readonly RunView[]
  /** Index at which the program of its caller died after the call was made; Infinity if it did not. */
  readonly died: number
}

/** One run of a handler. */
export interface RunView {
  readonly ran: Placed<Ran>
  readonly to: Placed<RanTo> | undefined
}

interface OpenCall {
  readonly invoke: Placed<Invoke>
  readonly ends: Placed<CallOk | CallFail>[]
  cancel: Placed<Cancel> | undefined
  readonly runs: RunView[]
  died: number
}

/** The calls of a history, in the order in which they were made. */
export function viewCalls(history: readonly Event[]): ReadonlyMap<string, CallView> {
  const calls = new Map<string, OpenCall>()
  const byToken = new Map<string, OpenCall>()
  const ofProgram = new Map<string, OpenCall[]>()
  for (const [index, event] of history.entries()) {
    if (event.type === 'invoke' && !calls.has(event.call)) {
      const invoke = { ...event, index }
      const call: OpenCall = {
        invoke,
        ends: [],
        cancel: undefined,
        runs: [],
        died: Number.POSITIVE_INFINITY,
      }
      calls.set(event.call, call)
      byToken.set(event.token, call)
      const others = ofProgram.get(event.program) ?? []
      others.push(call)
      ofProgram.set(event.program, others)
    }
    if (event.type === 'ok' || event.type === 'fail') calls.get(event.call)?.ends.push({ ...event, index })
    if (event.type === 'cancel') {
      const call = calls.get(event.call)
      if (call !== undefined) call.cancel ??= { ...event, index }
    }
    if (event.type === 'died') {
      for (const call of ofProgram.get(event.program) ?? []) call.died = Math.min(call.died, index)
      ofProgram.delete(event.program)
    }
  }
  for (const run of viewRuns(history)) byToken.get(run.ran.token)?.runs.push(run)
  return calls
}

/** The runs of all handlers, in the order in which they began. */
export function viewRuns(history: readonly Event[]): readonly RunView[] {
  const runs = new Map<string, { ran: Placed<Ran>; to: Placed<RanTo> | undefined }>()
  for (const [index, event] of history.entries()) {
    if (event.type === 'ran') runs.set(event.run, { ran: { ...event, index }, to: undefined })
    if (event.type !== 'ranTo') continue
    const run = runs.get(event.run)
    if (run !== undefined) run.to ??= { ...event, index }
  }
  return [...runs.values()]
}

/** Events of one type, with their places. */
export function eventsOf<Type extends Event['type']>(
  history: readonly Event[],
  type: Type,
): Placed<EventOf<Type>>[] {
  return history.flatMap((event, index) =>
    event.type === type ? [{ ...(event as EventOf<Type>), index }] : [],
  )
}

/** The client whose session a call uses. */
export function ownerOf({ via, client }: Invoke): string {
  return via ?? client
}

/** A call in words. */
export function nameCall({ call, client, operation, token }: Invoke): string {
  return `call ${call} (${operation} ${token}) of ${client}`
}
