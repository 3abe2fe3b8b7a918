import { subscribe } from '../../../runtime/faults/events.js'
import type { Process } from '../../../runtime/process/process.js'
import { type ProcessRef, processOf } from '../../../runtime/process/ref.js'
import { inspect } from '../../../runtime/watch/inspect.js'
import type { Registry } from '../../../runtime/process/registry.js'
import { subscribeServer } from '../../../server/base/events.js'
import { currentProgram, type Program } from '../world/program.js'
import type { Stage } from './stage.js'
import type { Uses } from './uses.js'

/** What the hosts of programs let others see of them. */
export interface Watched {
  readonly program: Program | undefined
  /** The root of its tree. */
  readonly root: ProcessRef | undefined
  /** Of servers. */
  readonly registry?: Registry | undefined
  readonly uses?: Uses
  readonly isClosing: boolean
}

/** Takes down what servers and supervisors tell of themselves, until the undo. */
export function watchPrograms(stage: Stage): () => void {
  const undo = [watchSessions(stage), watchNodes(stage), ...watchSupervisors(stage)]
  return () => {
    for (const each of undo) each()
  }
}

/** The program whose code tells something: in a tree of its own nobody else can. */
function hostNow(hosts: ReadonlyMap<string, Watched>): Watched | undefined {
  const program = currentProgram()
  const host = program === undefined ? undefined : hosts.get(program.name)
  return host?.program === program ? host : undefined
}

/** A session is told by the number of its process: the registry of its tree knows which id that has. */
function watchSessions({ plan, recorder, broken, hosts }: Stage): () => void {
  const ids = new Map<string, string>()
  const refusing = new Set<string>()
  const stopNodes = subscribeServer('node', ({ type }) => {
    const name = currentProgram()?.name ?? ''
    if (type === 'refusing') refusing.add(name)
    if (type === 'serving') refusing.delete(name)
  })
  const stopSessions = subscribeServer('session', ({ type, server, process, reason, was }) => {
    const program = currentProgram()
    const registry = hostNow(hosts)?.registry
    const key = `${program?.name} ${program?.incarnation} ${process}`
    const session = ids.get(key) ?? sessionOf(registry, server, process)
    if (program?.name !== server || session === undefined)
      return broken(`nobody knows which session of ${server} is ${type}`)
    // one that hibernates is nobody's: another program, or this one after a crash, may restore it
    if (type === 'hibernated') return recorder.add({ type: 'released', program: server, session })
    if (type === 'woken') ids.delete(`${program?.name} ${program?.incarnation} ${was}`)
    if (type !== 'ended') {
      ids.set(key, session)
      return recorder.add({ type: type === 'woken' ? 'restored' : type, program: server, session })
    }
    ids.delete(key)
    const unused = hostNow(hosts)?.uses?.end(session)
    recorder.add({
      type: 'released',
      program: server,
      session,
      // without its engine a node gives sessions up before another one may claim them: none of them is over
      ...(reason === 'normal' && unused !== undefined && !refusing.has(server) && { unused }),
    })
    const isOver = plan.store === 'memory' && reason === 'normal' && !isSealed(plan, server)
    if (isOver) recorder.add({ type: 'ended', program: server, session })
  })
  return () => {
    stopNodes()
    stopSessions()
  }
}

/** ms after a fault in which a node may refuse sessions. */
const shaken = 20_000

/** A node that refuses sessions has lost its lease, although nothing has broken for long. */
function watchNodes({ recorder, simulator, hosts }: Stage): () => void {
  return subscribeServer('node', ({ type }) => {
    const host = hostNow(hosts)
    if (type !== 'refusing' || host?.program === undefined || host.isClosing) return
    const breaks: ReadonlySet<string> = new Set(['fault', 'died', 'started', 'faultsEnded'])
    const last = recorder.events.findLast((event) => breaks.has(event.type))
    const alive = simulator.now - (last?.at ?? 0)
    if (alive >= shaken) recorder.add({ type: 'expired', program: host.program.name, what: 'lease', alive })
  })
}

function isSealed({ servers }: Stage['plan'], name: string): boolean {
  return servers.some((server) => server.name === name && server.sealed)
}

function sessionOf(registry: Registry | undefined, server: string, process: number): string | undefined {
  const start = `${server}/session `
  const name = registry
    ?.names()
    .find((name) => name.startsWith(start) && registry.whereis(name)?.id === process)
  return name?.slice(start.length)
}

/** One crash and what is started again for it. */
interface Round {
  readonly number: number
  readonly since: number
}

function watchSupervisors({ recorder, simulator, hosts }: Stage): (() => void)[] {
  const rounds = new Map<string, Round>()
  let last = 0
  const begin = (key: string): void => {
    last += 1
    rounds.set(key, { number: last, since: simulator.now })
  }
  const place = (supervisor: string) => {
    const program = currentProgram()
    const host = hostNow(hosts)
    const key = `${program?.name} ${program?.incarnation} ${supervisor}`
    const limits = host?.root === undefined ? undefined : limitsOf(host.root, supervisor)
    return { program: program?.name ?? '', key, limits, root: host?.root }
  }
  const restarted = (supervisor: string, { id, process }: ChildFacts, failed: boolean): void => {
    const { program, key, limits, root } = place(supervisor)
    const child = (root && supervisorCalled(root, process)) ?? id
    const round = rounds.get(key)
    if (round === undefined) return
    // the tree above it is gone: nobody knows how often it may start again
    if (limits === undefined) return
    const { number, since } = round
    recorder.add({
      type: 'restarted',
      program,
      supervisor,
      child,
      round: number,
      since,
      ...(failed && { failed }),
      ...limits,
    })
  }
  return [
    subscribe('progress', ({ supervisor, child, restarted: again }) => {
      if (again) restarted(supervisor, child, false)
    }),
    subscribe('supervisor', ({ supervisor, context, child }) => {
      const { program, key, limits } = place(supervisor)
      if (context === 'child_terminated' && child.restart !== 'temporary') begin(key)
      if (context === 'start_error') {
        restarted(supervisor, child, true)
        if (rounds.has(key)) begin(key)
      }
      if (context !== 'shutdown') return
      rounds.delete(key)
      if (limits === undefined) return
      recorder.add({ type: 'gaveUp', program, supervisor, ...limits })
    }),
  ]
}

interface ChildFacts {
  readonly id: string
  readonly process: number | undefined
}

interface Limits {
  readonly intensity: number
  readonly period: number
}

/** How often a supervisor may start its children again, as it counts itself. */
function limitsOf(root: ProcessRef, supervisor: string): Limits | undefined {
  for (const process of processesOf(root)) {
    const { window } = ((process as { readonly state?: unknown }).state ?? {}) as {
      readonly window?: { readonly intensity: number; readonly periodMs: number }
    }
    if (process.name === supervisor && window !== undefined)
      return { intensity: window.intensity, period: window.periodMs }
  }
  return undefined
}

/** The name of a supervisor with that number, which its own events have. */
function supervisorCalled(root: ProcessRef, id: number | undefined): string | undefined {
  return processesOf(root).find((process) => process.id === id && process.kind === 'supervisor')?.name
}

/** All processes of a tree, parents first. */
export function processesOf(root: ProcessRef): Process[] {
  const all = [processOf(root)]
  for (const process of all)
    for (const child of process.links ?? []) if (child.parent === process) all.push(child)
  return all
}

/** What a tree holds, by name. */
export function countTree(root: ProcessRef | undefined): Record<'processes' | 'messages', number> {
  if (root === undefined || !root.alive) return { processes: 0, messages: 0 }
  let [processes, messages] = [0, 0]
  const open = [inspect(root)]
  for (const { process, mailbox, children } of open) {
    if (process !== undefined) processes += 1
    messages += mailbox
    open.push(...children)
  }
  return { processes, messages }
}
