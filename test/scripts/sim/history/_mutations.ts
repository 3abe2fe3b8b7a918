import type { Event, EventOf } from '../../../../scripts/sim/history/history.js'
import type { Random } from '../../../../scripts/soak/random.js'

/** One way in which a server could be wrong: a right history as it would be then. */
export interface Mutation {
  readonly name: string
  /** The checker that has to see it. */
  readonly checker: string
  /** The history with the fault in it; undefined where there is nothing that could be wrong so. */
  apply(history: readonly Event[], random: Random): readonly Event[] | undefined
}

type Indexed<Type extends Event['type']> = { readonly index: number; readonly event: EventOf<Type> }

export const mutations: readonly Mutation[] = [
  {
    name: 'who has subscribed is not told of a change',
    checker: 'subscriptions',
    apply(history) {
      const at = history.at(-1)?.at ?? 0
      const uri = 'note'
      return [
        ...history,
        {
          type: 'invoke',
          call: 'subscribes',
          token: 'subscribes',
          program: 'p0',
          client: 'c0',
          era: 'session',
          operation: 'subscribe',
          uri,
          noted: false,
          timeout: 100,
          at,
        },
        { type: 'ok', call: 'subscribes', at },
        { type: 'changed', program: 's0', uri, clients: ['c0'], at },
      ]
    },
  },
  {
    name: 'a session ends by itself shortly after its use',
    checker: 'expiry',
    apply: (history, random) =>
      insert(history, random, 'opened', ({ event: { session, program, at } }) => [
        { type: 'released', session, program, unused: 10, at },
      ]),
  },
  {
    name: 'a map of a server has grown',
    checker: 'tables',
    apply(history, random) {
      const at = history.at(-1)?.at ?? 0
      const tables = { type: 'tables', program: 's0', at } as const
      const before = random.between(0, 3)
      return [
        ...history,
        { ...tables, when: 'fresh', counts: { sessions: before } },
        { ...tables, when: 'rest', counts: { sessions: before + 1 } },
      ]
    },
  },
  {
    name: 'somebody is let in with the token of another one',
    checker: 'tokens',
    apply(history, random) {
      const picked = random.pick(history.filter(({ type }) => type === 'ran'))
      if (picked === undefined) return undefined
      const { at } = picked
      const tried = { type: 'tried', program: 'm', server: 's1', what: 'foreign', status: 200, at } as const
      return history.flatMap((event) => (event === picked ? [event, tried] : [event]))
    },
  },
  {
    name: 'an acknowledged append is dropped',
    checker: 'lists',
    apply(history, random) {
      const appends = answered(history, 'append').filter(({ call, index }) =>
        answered(history, undefined).some(
          (later) => later.list === call.list && later.invoked > index && later.call.list !== undefined,
        ),
      )
      const picked = random.pick(appends)
      if (picked === undefined) return undefined
      return history.map((event, index) =>
        index > picked.index ? mapElements(event, (all) => all.filter((one) => one !== picked.token)) : event,
      )
    },
  },
  {
    name: 'two elements are swapped in what one call saw',
    checker: 'lists',
    apply(history, random) {
      const looks = answered(history, undefined).filter(({ elements }) => elements.length >= 2)
      const picked = random.pick(
        looks.filter(({ index, list, elements }) =>
          looks.some((o) => o.index !== index && o.list === list && o.elements.length >= elements.length),
        ),
      )
      if (picked === undefined) return undefined
      return replace(history, picked.index, (event) =>
        mapElements(event, ([first = '', second = '', ...rest]) => [second, first, ...rest]),
      )
    },
  },
  {
    name: 'an element is there twice',
    checker: 'lists',
    apply: (history, random) =>
      changeLook(history, random, ({ elements }) => [...elements, elements[0] ?? '']),
  },
  {
    name: 'an element of another session',
    checker: 'isolation',
    apply(history, random) {
      const looks = answered(history, undefined)
      const picked = random.pick(looks)
      const other = looks.find(({ list, elements }) => list !== picked?.list && elements.length > 0)
      if (picked === undefined || other === undefined) return undefined
      if (clientOf(history, picked.call.call) === clientOf(history, other.call.call)) return undefined
      return replace(history, picked.index, (event) =>
        mapElements(event, (all) => [...all, other.elements[0] ?? '']),
      )
    },
  },
  {
    name: 'a read is behind what was acknowledged before it',
    checker: 'lists',
    apply(history, random) {
      const appends = answered(history, 'append')
      const picked = random.pick(
        answered(history, 'read').filter(({ list, invoked }) =>
          appends.some((append) => append.list === list && append.index < invoked),
        ),
      )
      if (picked === undefined) return undefined
      return replace(history, picked.index, (event) => mapElements(event, () => []))
    },
  },
  {
    name: 'a read sees what is appended after it',
    checker: 'lists',
    apply(history, random) {
      const picked = random.pick(answered(history, 'read').filter(({ elements }) => elements.length > 0))
      if (picked === undefined) return undefined
      const last = picked.elements.at(-1)
      const made = history.findIndex((event) => event.type === 'invoke' && event.token === last)
      const [invoke, end] = [history[picked.invoked], history[picked.index]]
      if (invoke === undefined || end === undefined || picked.invoked < made) return undefined
      const rest = history.filter((_, index) => index !== picked.invoked && index !== picked.index)
      return [...rest.slice(0, made), invoke, end, ...rest.slice(made)]
    },
  },
  {
    name: 'a session is another one, and nothing has ended it',
    checker: 'lists',
    apply(history, random) {
      const looks = answered(history, undefined)
      const picked = random.pick(
        looks.filter(({ list, invoked }) => looks.some((o) => o.list === list && o.index < invoked)),
      )
      if (picked === undefined) return undefined
      return replace(history, picked.index, (event) => ({ ...(event as EventOf<'ok'>), list: 'another' }))
    },
  },
  {
    name: 'a session comes back without what was saved',
    checker: 'lists',
    apply: (history, random) =>
      change(
        history,
        random,
        'restored',
        ({ elements }) => (elements?.length ?? 0) > 0,
        (event) => ({ ...event, elements: [] }),
      ),
  },
  {
    name: 'an outcome comes twice',
    checker: 'settled',
    apply: (history, random) =>
      insert(history, random, 'ok', ({ event }) => [{ ...event, at: event.at + 1 }]),
  },
  {
    name: 'an outcome never comes',
    checker: 'settled',
    apply: (history, random) =>
      drop(history, random, random.next() < 0.5 ? 'ok' : 'fail', ({ event, index }) => {
        const client = clientOf(history, event.call) ?? ''
        const program = client < 'c2' ? 'p0' : 'p1'
        return !history.some((later, at) => at > index && later.type === 'died' && later.program === program)
      }),
  },
  {
    name: 'an outcome comes late',
    checker: 'settled',
    apply: (history, random) =>
      change(history, random, 'ok', always, (event) => ({ ...event, at: event.at + 100_001 })),
  },
  {
    name: 'a call that ran is told unsent',
    checker: 'truth',
    apply: (history, random) =>
      change(
        history,
        random,
        'fail',
        ({ call }) => runOf(history, call) !== undefined,
        (event) => ({ ...event, sent: false }),
      ),
  },
  {
    name: 'a call succeeds without having run',
    checker: 'truth',
    apply(history, random) {
      const picked = random.pick(eventsOf(history, 'ok'))
      const token = picked === undefined ? undefined : tokenOf(history, picked.event.call)
      if (token === undefined) return undefined
      return history.filter((event) => event.type !== 'ran' || event.token !== token)
    },
  },
  {
    name: 'a call runs twice',
    checker: 'truth',
    apply: (history, random) =>
      insert(history, random, 'ran', ({ event }) => [{ ...event, run: `${event.run}, again` }]),
  },
  {
    name: 'two answers are exchanged',
    checker: 'isolation',
    apply(history, random) {
      const answers = eventsOf(history, 'ok').filter(({ event }) => event.value !== undefined)
      const [one, other] = [random.pick(answers), random.pick(answers)]
      if (one === undefined || other === undefined || one.index === other.index) return undefined
      return history.map((event, index) => {
        const value = index === one.index ? other.event.value : index === other.index ? one.event.value : ''
        return value === '' || value === undefined ? event : { ...(event as EventOf<'ok'>), value }
      })
    },
  },
  {
    name: 'a handler runs as somebody else',
    checker: 'isolation',
    apply: (history, random) =>
      change(history, random, 'ran', always, (event) => ({ ...event, principal: 'somebody' })),
  },
  {
    name: 'two programs have a session',
    checker: 'owners',
    apply: (history, random) =>
      insert(history, random, 'opened', ({ event: { session, program, principal, at } }) => [
        {
          type: 'restored',
          session,
          program: program === 's0' ? 's1' : 's0',
          at,
          ...(principal !== undefined && { principal }),
        },
      ]),
  },
  {
    name: 'a session comes back after its end',
    checker: 'owners',
    apply: (history, random) =>
      insert(history, random, 'ended', ({ event: { session, program, at } }) => [
        { type: 'restored', session, program, at },
      ]),
  },
  {
    name: 'an event of a stream is missing',
    checker: 'streams',
    apply: (history, random) =>
      drop(history, random, 'received', ({ event: { call, progress }, index }) =>
        history.some(
          (later, at) =>
            at > index && later.type === 'received' && later.call === call && progress !== undefined,
        ),
      ),
  },
  {
    name: 'an event of a stream comes twice',
    checker: 'streams',
    apply: (history, random) => insert(history, random, 'received', ({ event }) => [event]),
  },
  {
    name: 'two events of a stream come in another order',
    checker: 'streams',
    apply(history, random) {
      const received = eventsOf(history, 'received')
      const picked = random.pick(
        received.flatMap((one) => {
          const next = received.find(({ event, index }) => index > one.index && event.call === one.event.call)
          return next === undefined ? [] : [[one, next] as const]
        }),
      )
      if (picked === undefined) return undefined
      const [one, next] = picked
      return history.map((event, index) =>
        index === one.index ? next.event : index === next.index ? one.event : event,
      )
    },
  },
  {
    name: 'the end of a stream is missing, and its call succeeds',
    checker: 'streams',
    apply: (history, random) =>
      drop(history, random, 'received', ({ event: { call } }) =>
        eventsOf(history, 'ok').some(({ event }) => event.call === call),
      ),
  },
  {
    name: 'an event reaches another client',
    checker: 'isolation',
    apply: (history, random) =>
      change(history, random, 'received', always, (event) => ({
        ...event,
        client: event.client === 'c0' ? 'c1' : 'c0',
      })),
  },
  {
    name: 'an event comes from nowhere',
    checker: 'streams',
    apply: (history, random) =>
      drop(history, random, 'emitted', ({ event: { payload } }) =>
        eventsOf(history, 'received').some(({ event }) => event.payload === payload),
      ),
  },
  {
    name: 'progress does not grow',
    checker: 'handlers',
    apply: (history, random) =>
      change(
        history,
        random,
        'received',
        ({ progress }) => (progress ?? 0) > 1,
        (event) => ({ ...event, progress: 1 }),
      ),
  },
  {
    name: 'progress comes after the answer',
    checker: 'handlers',
    apply(history, random) {
      const picked = random.pick(
        eventsOf(history, 'received').filter(({ event }) =>
          eventsOf(history, 'ok').some((end) => end.event.call === event.call),
        ),
      )
      if (picked === undefined) return undefined
      return [...history.filter((_, index) => index !== picked.index), picked.event]
    },
  },
  {
    name: 'a cancelled call succeeds',
    checker: 'handlers',
    apply(history, random) {
      const picked = random.pick(eventsOf(history, 'cancel'))
      if (picked === undefined) return undefined
      const { call, at } = picked.event
      return history.map((event) =>
        event.type === 'fail' && event.call === call ? { type: 'ok', call, at: at + 5 } : event,
      )
    },
  },
  {
    name: 'a client is never ready again',
    checker: 'liveness',
    apply(history, random) {
      const whole = history.findIndex(({ type }) => type === 'faultsEnded')
      const client = random.pick(['c0', 'c1', 'c2', 'c3'])
      const stuck = history.map((event, index) =>
        index > whole && event.type === 'phase' && event.client === client && event.phase === 'ready'
          ? { ...event, phase: 'backoff' }
          : event,
      )
      return stuck
    },
  },
  {
    name: 'a call waits for longer than it has to',
    checker: 'liveness',
    apply(history, random) {
      const whole = history.findIndex(({ type }) => type === 'faultsEnded')
      const picked = random.pick(eventsOf(history, 'ok').filter(({ index }) => index > whole))
      if (picked === undefined) return undefined
      return replace(history, picked.index, (event) => ({ ...event, at: event.at + 50_000 }))
    },
  },
  {
    name: 'something still waits when all is calm',
    checker: 'liveness',
    apply: (history, random) =>
      change(
        history,
        random,
        'census',
        ({ when }) => when === 'calm',
        (event) => ({ ...event, counts: { waiting: 1 } }),
      ),
  },
  {
    name: 'something is left in the end',
    checker: 'leaks',
    apply: (history, random) =>
      change(
        history,
        random,
        'census',
        ({ when }) => when === 'end',
        (event) => ({ ...event, counts: { ...event.counts, sockets: 1 } }),
      ),
  },
  {
    name: 'a supervisor starts a child again too often',
    checker: 'supervisors',
    apply: (history, random) =>
      insert(history, random, 'restarted', ({ event }) => [{ ...event, round: event.round + 1_000 }]),
  },
]

interface Answered {
  readonly call: EventOf<'ok'>
  readonly token: string
  readonly list: string
  readonly elements: readonly string[]
  readonly invoked: number
  readonly index: number
}

/** Answers that tell a list, of this operation or of any. */
function answered(history: readonly Event[], operation: 'append' | 'read' | undefined): Answered[] {
  return eventsOf(history, 'ok').flatMap(({ event, index }) => {
    const invoked = history.findIndex((one) => one.type === 'invoke' && one.call === event.call)
    const invoke = history[invoked]
    if (invoke?.type !== 'invoke' || event.list === undefined || event.elements === undefined) return []
    if (operation !== undefined && invoke.operation !== operation) return []
    const { list, elements } = event
    return [{ call: event, token: invoke.token, list, elements, invoked, index }]
  })
}

function eventsOf<Type extends Event['type']>(history: readonly Event[], type: Type): Indexed<Type>[] {
  return history.flatMap((event, index) =>
    event.type === type ? [{ index, event: event as EventOf<Type> }] : [],
  )
}

function tokenOf(history: readonly Event[], call: string): string | undefined {
  const invoke = history.find((event) => event.type === 'invoke' && event.call === call)
  return invoke?.type === 'invoke' ? invoke.token : undefined
}

function clientOf(history: readonly Event[], call: string): string | undefined {
  const invoke = history.find((event) => event.type === 'invoke' && event.call === call)
  return invoke?.type === 'invoke' ? invoke.client : undefined
}

function runOf(history: readonly Event[], call: string): Event | undefined {
  const token = tokenOf(history, call)
  return history.find((event) => event.type === 'ran' && event.token === token)
}

function mapElements(event: Event, map: (elements: readonly string[]) => readonly string[]): Event {
  return 'elements' in event && event.elements !== undefined
    ? ({ ...event, elements: map(event.elements) } as Event)
    : event
}

function changeLook(
  history: readonly Event[],
  random: Random,
  map: (look: Answered) => readonly string[],
): readonly Event[] | undefined {
  const picked = random.pick(answered(history, undefined).filter(({ elements }) => elements.length > 0))
  return picked === undefined
    ? undefined
    : replace(history, picked.index, (event) => mapElements(event, () => map(picked)))
}

function always(): boolean {
  return true
}

function change<Type extends Event['type']>(
  history: readonly Event[],
  random: Random,
  type: Type,
  fits: (event: EventOf<Type>) => boolean,
  map: (event: EventOf<Type>) => Event,
): readonly Event[] | undefined {
  const picked = random.pick(eventsOf(history, type).filter(({ event }) => fits(event)))
  return picked === undefined ? undefined : replace(history, picked.index, () => map(picked.event))
}

function drop<Type extends Event['type']>(
  history: readonly Event[],
  random: Random,
  type: Type,
  fits: (one: Indexed<Type>) => boolean = always,
): readonly Event[] | undefined {
  const picked = random.pick(eventsOf(history, type).filter(fits))
  return picked === undefined ? undefined : history.filter((_, index) => index !== picked.index)
}

/** Adds events after one of this type. */
function insert<Type extends Event['type']>(
  history: readonly Event[],
  random: Random,
  type: Type,
  make: (one: Indexed<Type>) => readonly Event[],
): readonly Event[] | undefined {
  const picked = random.pick(eventsOf(history, type))
  if (picked === undefined) return undefined
  return [...history.slice(0, picked.index + 1), ...make(picked), ...history.slice(picked.index + 1)]
}

function replace(history: readonly Event[], index: number, map: (event: Event) => Event): readonly Event[] {
  return history.map((event, at) => (at === index ? map(event) : event))
}
