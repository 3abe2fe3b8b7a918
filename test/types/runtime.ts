import {
  type ActorRef,
  childSpec,
  type Deferred,
  defineActor,
  ignore,
  type NamedRef,
  type ProcessRef,
  type Registry,
  type RefOf,
  refuse,
  startActor,
} from 'caduceus/runtime'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

function isTrue<_ extends true>(): void {}

/** Nothing here is annotated but what messages carry: state, replies and names are inferred. */
const counter = defineActor({
  name: 'counter',
  init: (start: number) => ({ count: start, last: undefined as string | undefined }),
  call: {
    read: (state) => state.count,
    add: (state, by: number) => {
      state.count += by
      return state.count
    },
    note: (state, text?: string) => {
      state.last = text
    },
    slow: async (state, by: number) => state.count + by,
    check: (state, limit: number) => (state.count > limit ? refuse(new Error('too much')) : 'fine'),
    later: (_, __: undefined, ctx) => ctx.defer<boolean>(),
    asyncLater: async (_, wait: number, ctx) => {
      ctx.sendAfter(wait)
      return ctx.defer<Date>()
    },
    anything: (_, input: unknown) => input,
  },
  cast: {
    reset: (state) => {
      state.count = 0
    },
    set: (state, to: { count: number }) => {
      state.count = to.count
    },
  },
  info: {
    down: (state, { process, reason }) => {
      isTrue<Equal<typeof process, ProcessRef>>()
      if (reason.type === 'crash') state.last = String(reason.error)
    },
    exit: (_, { from }) => isTrue<Equal<typeof from, ProcessRef | null>>(),
    message: (_, message) => isTrue<Equal<typeof message, unknown>>(),
  },
  terminate: (state, reason) => {
    isTrue<Equal<typeof state.count, number>>()
    return reason.type
  },
})

const empty = defineActor({ name: 'empty', init: () => ({}) })
const lazy = defineActor({ name: 'lazy', init: (depth?: number) => ({ depth }) })
const declining = defineActor({
  name: 'declining',
  init: async (text: string) => (text === '' ? ignore : { text }),
  call: { read: ({ text }) => text },
})

export async function repliesAreInferred(ref: RefOf<typeof counter>): Promise<void> {
  const replies = {
    read: await ref.call('read'),
    add: await ref.call('add', 2),
    note: await ref.call('note', 'text'),
    slow: await ref.call('slow', 1),
    check: await ref.call('check', 5),
    later: await ref.call('later'),
    asyncLater: await ref.call('asyncLater', 10),
    anything: await ref.call('anything', { any: 'thing' }),
  }
  isTrue<Equal<typeof replies.read, number>>()
  isTrue<Equal<typeof replies.add, number>>()
  isTrue<Equal<typeof replies.note, void>>()
  isTrue<Equal<typeof replies.slow, number>>()
  isTrue<Equal<typeof replies.check, string>>()
  isTrue<Equal<typeof replies.later, boolean>>()
  isTrue<Equal<typeof replies.asyncLater, Date>>()
  isTrue<Equal<typeof replies.anything, unknown>>()
}

export function wrongNamesDoNotCompile(ref: RefOf<typeof counter>): void {
  // @ts-expect-error no such call
  void ref.call('raed')
  // @ts-expect-error a cast is no call
  void ref.call('reset')
  // @ts-expect-error a call is no cast
  ref.cast('read')
  // @ts-expect-error no such cast
  ref.cast('rest')
}

export function wrongPayloadsDoNotCompile(ref: RefOf<typeof counter>): void {
  // @ts-expect-error a number is needed
  void ref.call('add')
  // @ts-expect-error a number, not a text
  void ref.call('add', '2')
  // @ts-expect-error the handler takes nothing
  void ref.call('read', 7)
  // @ts-expect-error a text or nothing
  void ref.call('note', 7)
  // @ts-expect-error an object with a count
  ref.cast('set', 5)
  // @ts-expect-error the handler takes nothing
  ref.cast('reset', 5)
  // @ts-expect-error a cast has no options
  ref.cast('set', { count: 1 }, { timeout: 5 })
  // @ts-expect-error the timeout is a number
  void ref.call('add', 1, { timeout: '5s' })
}

export function optionsFollowTheInput(ref: RefOf<typeof counter>): void {
  void ref.call('read', undefined, { timeout: 100 })
  void ref.call('add', 1, { timeout: 100 })
  void ref.call('note')
  ref.cast('reset')
  ref.cast('set', { count: 1 })
  ref.send({ anything: true })
}

export async function inputsOfInitAreChecked(): Promise<void> {
  const ref = await startActor(counter, 5, { name: 'one', logger: false })
  isTrue<Equal<typeof ref, RefOf<typeof counter>>>()
  const declined = await startActor(declining, 'text')
  const text = await declined.call('read')
  isTrue<Equal<typeof text, string>>()
  void startActor(empty)
  void startActor(empty, undefined, { logger: false })
  void startActor(lazy)
  void startActor(lazy, 3)
  childSpec(counter, 5, { id: 'c', restart: 'transient' })
  // @ts-expect-error init needs a number
  void startActor(counter)
  // @ts-expect-error a number, not a text
  void startActor(counter, '5')
  // @ts-expect-error no such option
  void startActor(counter, 5, { nmae: 'one' })
  // @ts-expect-error init needs a number
  childSpec(counter)
  // @ts-expect-error no such restart type
  childSpec(counter, 5, { restart: 'always' })
}

export async function childrenAreTypedLikeRoots(): Promise<void> {
  const parent = defineActor({
    name: 'parent',
    init: async (_: undefined, ctx) => ({ child: await ctx.start(counter, 1) }),
    call: { child: (state) => state.child },
  })
  const ref = await startActor(parent, undefined)
  const child = await ref.call('child')
  isTrue<Equal<typeof child, RefOf<typeof counter>>>()
  // @ts-expect-error no such call
  void child.call('nothing')
}

export async function namesAreTypedByTheBehaviourExpected(registry: Registry): Promise<void> {
  const named = registry.named<typeof counter>('counter')
  const count = await named.call('add', 1)
  isTrue<Equal<typeof count, number>>()
  isTrue<Equal<typeof named.current, RefOf<typeof counter> | undefined>>()
  // @ts-expect-error no such call
  void named.call('nothing')
  // @ts-expect-error a number is needed
  void named.call('add')
  const untyped: NamedRef = registry.named('counter')
  // @ts-expect-error nothing is known of who is behind the name
  void untyped.call('read')
}

export function referencesAreProcesses(ref: RefOf<typeof counter>, kept: Deferred<number>): void {
  const process: ProcessRef = ref
  const plain: ActorRef = ref
  kept.resolve(process.id + plain.id)
  // @ts-expect-error a number is awaited
  kept.resolve('one')
  // @ts-expect-error a process in general takes no calls
  void process.call('read')
  // @ts-expect-error nothing is known of its calls any more
  void plain.call('read')
}

export function definitionsAreChecked(): void {
  // @ts-expect-error a name is needed
  defineActor({ init: () => ({}) })
  // @ts-expect-error no such field
  defineActor({ name: 'x', init: () => ({}), trapExits: true })
  // @ts-expect-error handlers are functions
  defineActor({ name: 'x', init: () => ({}), call: { read: 7 } })
  // @ts-expect-error no such policy
  defineActor({ name: 'x', init: () => ({}), stray: 'ignore' })
  defineActor({
    name: 'x',
    init: () => ({ count: 0 }),
    // @ts-expect-error the state has no such field
    call: { read: (state) => state.cuont },
  })
}
