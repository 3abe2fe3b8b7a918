import * as assert from 'uvu/assert'
import type {
  Checker,
  Event,
  Facts,
  Invoke,
  Unstamped,
  Violation,
} from '../../../../scripts/sim/history/history.js'

export const usualFacts: Facts = {
  store: 'durable',
  owners: 'exclusive',
  ordered: true,
  lateBy: 0,
  calmWithin: 1_000,
  queues: [],
}

/** An event of a story; without `at` it is 10 ms after the one before. */
export type Told = Unstamped & { readonly at?: number }

/** A history of these events. */
export function story(...events: readonly Told[]): Event[] {
  let now = 0
  return events.map((event) => {
    now = event.at ?? now + 10
    return { ...event, at: now } as Event
  })
}

/** A call of client `a`, named and known by `call`. */
export function asked(call: string, more: Partial<Invoke> = {}): Told {
  return {
    type: 'invoke',
    call,
    program: 'p',
    client: 'a',
    era: 'session',
    operation: 'echo',
    token: call,
    noted: false,
    timeout: 1_000,
    ...more,
  }
}

export function ok(
  call: string,
  more: Partial<{ value: string; list: string; elements: string[] }> = {},
): Told {
  return { type: 'ok', call, ...more }
}

export function failed(call: string, sent: boolean, code = 'CONNECTION_LOST'): Told {
  return { type: 'fail', call, code, sent }
}

export function ran(token: string, more: Partial<Extract<Told, { type: 'ran' }>> = {}): Told {
  return { type: 'ran', program: 's1', run: `run of ${token}`, token, operation: 'echo', ...more }
}

/** The kinds of what this checker finds; each has proof within the history. */
export function kindsOf(
  checker: Checker,
  history: readonly Event[],
  facts: Partial<Facts> = {},
): readonly string[] {
  const found: Violation[] = checker(history, { ...usualFacts, ...facts })
  for (const { kind, message, events } of found) {
    assert.ok(message.length > 0, kind)
    assert.ok(events.length > 0, `${kind} without proof`)
    for (const index of events)
      assert.ok(history[index] !== undefined, `${kind}: ${index} is no event of the history`)
  }
  return [...new Set(found.map(({ kind }) => kind))].sort()
}
