import type { Event, Facts, Invoke, Unstamped } from '../../../../scripts/sim/history/history.js'
import { createRandom, type Random } from '../../../../scripts/soak/random.js'

/** What the model promises of itself. */
export const modelFacts: Facts = {
  store: 'durable',
  owners: 'exclusive',
  ordered: true,
  lateBy: 0,
  calmWithin: 1_000,
  lasting: new Set(['c0', 'c1', 'c2', 'c3']),
  queues: ['waiting'],
  toldWithin: 1_000,
  idle: new Map([
    ['s0', 1_000],
    ['s1', 1_000],
  ]),
}

interface Session {
  readonly name: string
  readonly client: string
  owner: string | undefined
  elements: string[]
}

interface Run {
  readonly name: string
  readonly program: string
  seen: readonly string[]
  emitted: number
}

interface Call {
  readonly invoke: Invoke
  readonly session: Session
  run: Run | undefined
  state: 'made' | 'running' | 'done' | 'answered'
  cancelled: boolean
  /** Of this call, not yet received. */
  readonly stream: Unstamped[]
}

/**
 * A history of a server that keeps its promises, under faults: clients with a session each, whose lists change
 * at one moment each; server programs that die, and whose sessions are continued by the other one.
 */
export function rightHistory(seed: number): Event[] {
  return new Model(createRandom(seed)).run()
}

class Model {
  readonly #random: Random
  readonly #events: Event[] = []
  readonly #sessions = new Map<string, Session>()
  readonly #calls: Call[] = []
  readonly #clients = ['c0', 'c1', 'c2', 'c3'] as const
  readonly #servers = ['s0', 's1'] as const
  #now = 0
  #count = 0
  #restarts = 0

  constructor(random: Random) {
    this.#random = random
  }

  run(): Event[] {
    for (const program of ['p0', 'p1'])
      this.#add({ type: 'census', program, when: 'base', counts: { timers: 3, sockets: 0 } })
    for (const client of this.#clients) this.#begin(client)
    for (let i = 0; i < 120; i++) this.#step()
    this.#add({ type: 'faultsEnded' })
    while (this.#calls.length > 0) this.#forward(this.#pick(this.#calls))
    for (const client of this.#clients) this.#phase(client, 'ready')
    for (const program of ['p0', 'p1'])
      this.#add({ type: 'census', program, when: 'calm', counts: { timers: 5, waiting: 0 } })
    for (const client of this.#clients) this.#phase(client, 'closed')
    for (const program of ['p0', 'p1'])
      this.#add({ type: 'census', program, when: 'end', counts: { timers: 3, sockets: 0 } })
    return this.#events
  }

  #step(): void {
    const chance = this.#random.next()
    if (chance < 0.3) this.#make()
    else if (chance < 0.93 && this.#calls.length > 0) this.#forward(this.#pick(this.#calls))
    else if (chance < 0.96) this.#killServer(this.#pick(this.#servers))
    else if (chance < 0.97) this.#killCaller(this.#pick(['p0', 'p1']))
    else if (chance < 0.98) this.#restart()
    else if (chance < 0.99) this.#end(this.#pick(this.#clients))
    else this.#move(this.#pick(this.#clients))
  }

  #make(): void {
    const client = this.#pick(this.#clients)
    this.#count += 1
    const token = `t${this.#count}`
    const operation = this.#pick(['append', 'append', 'read', 'echo', 'slow'] as const)
    const invoke: Invoke = {
      type: 'invoke',
      call: `call ${this.#count}`,
      program: programOf(client),
      client,
      principal: `user of ${client}`,
      era: 'session',
      operation,
      token,
      most: 1,
      noted: true,
      ...(operation !== 'read' && { expected: `<${token}>` }),
      timeout: 100_000,
    }
    this.#add(invoke)
    const session = this.#sessions.get(client)
    if (session === undefined) throw new Error(`no session of ${client}`)
    this.#calls.push({ invoke, session, run: undefined, state: 'made', cancelled: false, stream: [] })
  }

  /** What happens next to a call. */
  #forward(call: Call): void {
    const { invoke, session } = call
    const chance = this.#random.next()
    if (call.state === 'made') {
      if (chance < 0.1) this.#settle(call, { type: 'fail', call: invoke.call, code: 'TIMEOUT', sent: false })
      else if (session.owner === undefined) this.#settle(call, lost(invoke, false))
      else this.#begun(call, session.owner)
      return
    }
    const { run } = call
    if (run === undefined) return
    // Whatever has happened to the run, its caller may lose patience, or the connection.
    if (chance < 0.08) return this.#settle(call, lost(invoke, true))
    if (chance < 0.12) {
      this.#add({ type: 'cancel', call: invoke.call })
      return this.#settle(call, { type: 'fail', call: invoke.call, code: 'CANCELLED', sent: true }, 0)
    }
    if (call.stream.length > 0 && (chance < 0.5 || call.state === 'answered')) {
      const next = call.stream.shift()
      if (next !== undefined) this.#add(next)
      return
    }
    if (call.state === 'running') {
      if (invoke.operation === 'slow' && run.emitted < 4) this.#emit(call, run)
      else this.#effect(call, run)
    } else if (call.state === 'done') {
      this.#add({
        type: 'ranTo',
        program: run.program,
        run: run.name,
        end: 'ok',
        ...(invoke.expected !== undefined && { value: invoke.expected }),
      })
      call.state = 'answered'
    } else {
      const tells = invoke.operation === 'append' || invoke.operation === 'read'
      this.#settle(call, {
        type: 'ok',
        call: invoke.call,
        ...(invoke.expected !== undefined && { value: invoke.expected }),
        ...(tells && { list: session.name, elements: run.seen }),
      })
    }
  }

  #begun(call: Call, program: string): void {
    const { invoke, session } = call
    const { token, operation, client } = invoke
    call.run = { name: `run of ${token}`, program, seen: [], emitted: 0 }
    call.state = 'running'
    this.#add({
      type: 'ran',
      program,
      run: call.run.name,
      token,
      operation,
      session: session.name,
      principal: `user of ${client}`,
    })
  }

  #emit({ invoke, session, stream }: Call, run: Run): void {
    const { token, client, program, call } = invoke
    run.emitted += 1
    const payload = `${token} ${run.emitted}`
    const about = { kind: 'progress', payload } as const
    this.#add({
      ...about,
      type: 'emitted',
      program: run.program,
      stream: `stream of ${token}`,
      sequence: run.emitted,
      session: session.name,
      token,
    })
    stream.push({
      ...about,
      type: 'received',
      program,
      client,
      broadcast: false,
      call,
      progress: run.emitted,
    })
  }

  /** The one moment at which it takes effect; saved before it is told. */
  #effect(call: Call, run: Run): void {
    const { invoke, session } = call
    if (invoke.operation === 'append') {
      session.elements = [...session.elements, invoke.token]
      this.#add({ type: 'saved', program: run.program, session: session.name, elements: session.elements })
    }
    run.seen = session.elements
    call.state = 'done'
  }

  #settle(call: Call, end: Unstamped, after?: number): void {
    this.#add(end, after)
    this.#forget(call)
  }

  #forget(call: Call): void {
    const index = this.#calls.indexOf(call)
    if (index >= 0) this.#calls.splice(index, 1)
  }

  #killServer(program: string): void {
    this.#add({ type: 'fault', verb: 'kill', target: program })
    this.#add({ type: 'died', program })
    for (const call of [...this.#calls]) {
      if (call.run?.program === program) this.#settle(call, lost(call.invoke, true))
    }
    for (const session of this.#sessions.values()) {
      if (session.owner !== program) continue
      this.#phase(session.client, 'backoff')
      this.#continue(session)
      this.#phase(session.client, 'ready')
    }
    this.#add({ type: 'started', program })
  }

  #move(client: string): void {
    const session = this.#sessions.get(client)
    if (session?.owner === undefined || this.#calls.some((call) => call.session === session)) return
    this.#add({ type: 'released', program: session.owner, session: session.name })
    this.#continue(session)
  }

  #continue(session: Session): void {
    session.owner = this.#pick(this.#servers)
    const { name, client, elements, owner } = session
    this.#add({ type: 'restored', program: owner, session: name, principal: `user of ${client}`, elements })
  }

  #killCaller(program: string): void {
    this.#add({ type: 'fault', verb: 'kill', target: program })
    this.#add({ type: 'died', program })
    for (const call of [...this.#calls]) if (call.invoke.program === program) this.#forget(call)
    this.#add({ type: 'started', program })
    this.#add({ type: 'census', program, when: 'base', counts: { timers: 3, sockets: 0 } })
    for (const client of this.#clients) if (programOf(client) === program) this.#begin(client)
  }

  /** A session ends by itself, and its client has a new one. */
  #end(client: string): void {
    const session = this.#sessions.get(client)
    if (session?.owner === undefined) return
    for (const call of [...this.#calls])
      if (call.session === session) this.#settle(call, lost(call.invoke, call.run !== undefined))
    this.#add({ type: 'ended', program: session.owner, session: session.name })
    this.#begin(client)
  }

  #begin(client: string): void {
    this.#count += 1
    const session = {
      name: `session ${this.#count}`,
      client,
      owner: this.#pick(this.#servers),
      elements: [],
    }
    this.#sessions.set(client, session)
    this.#add({
      type: 'opened',
      program: session.owner,
      session: session.name,
      principal: `user of ${client}`,
    })
    this.#phase(client, 'ready')
  }

  #restart(): void {
    this.#restarts += 1
    this.#now += 2_000
    this.#add({
      type: 'restarted',
      program: 's0',
      supervisor: 'group',
      child: 'base',
      round: this.#restarts,
      intensity: 1,
      period: 1_000,
    })
  }

  #phase(client: string, phase: string): void {
    this.#add({ type: 'phase', program: programOf(client), client, phase })
  }

  #add(event: Unstamped, after = this.#random.between(0, 3)): void {
    this.#now += after
    this.#events.push({ ...event, at: this.#now } as Event)
  }

  #pick<T>(from: readonly T[]): T {
    const picked = this.#random.pick(from)
    if (picked === undefined) throw new Error('nothing to pick from')
    return picked
  }
}

function programOf(client: string): string {
  return client < 'c2' ? 'p0' : 'p1'
}

function lost({ call }: Invoke, sent: boolean): Unstamped {
  return { type: 'fail', call, code: 'CONNECTION_LOST', sent }
}
