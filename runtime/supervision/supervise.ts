import { RuntimeError, show, optionError } from '../base/errors.js'
import { crash, type ExitReason, shutdown } from '../base/exit.js'
import { handled } from '../base/promise.js'
import { refused } from '../process/call.js'
import type { ActorContext } from '../process/context.js'
import { type Process, type ProcessRef, processOf } from '../process/process.js'
import { type RootOptions, startRootWith } from '../process/root.js'
import {
  Child,
  type ChildStarted,
  giveUp,
  noteEnd,
  reportChild,
  startChild,
  stopChild,
  tryRestart,
} from './child.js'
import {
  type ChildOverrides,
  type ChildSpec,
  childSpec,
  type FullChildSpec,
  readChildSpec,
  refuseSignificant,
} from './child-spec.js'
import {
  type AutoShutdown,
  readSupervisorOptions,
  type SupervisorOptions,
  type SupervisorPlan,
} from './options.js'
import { RestartWindow } from './restart-window.js'
import {
  answer,
  answers,
  childInfo,
  count,
  failedToStart,
  SupervisorHandle,
  supervisorBehaviour,
} from './skeleton.js'
import { restartPlan, type Strategy } from './strategy.js'

/** Administers one incarnation of a supervisor. */
export class Supervisor extends SupervisorHandle {
  /** Starts a last child. Rejects with ALREADY_STARTED, ALREADY_PRESENT, START_FAILED or BAD_SPEC. */
  startChild(spec: ChildSpec): Promise<ChildStarted> {
    try {
      return this.request('startChild', readChildSpec(spec))
    } catch (error) {
      return refused(error)
    }
  }

  /** Stops a child, running or not; keeps its spec unless it is temporary. Rejects with NOT_FOUND. */
  terminateChild(id: string): Promise<void> {
    return this.request('terminateChild', id)
  }

  /** Starts a stopped child again. Rejects with RUNNING, RESTARTING, NOT_FOUND or START_FAILED. */
  restartChild(id: string): Promise<ChildStarted> {
    return this.request('restartChild', id)
  }

  /** Removes a stopped child's spec. Rejects with RUNNING, RESTARTING or NOT_FOUND. */
  deleteChild(id: string): Promise<void> {
    return this.request('deleteChild', id)
  }

  /** A child's spec with every default filled in. Rejects with NOT_FOUND. */
  childSpec(id: string): Promise<ChildSpec> {
    return this.request('childSpec', id)
  }
}

/**
 * Starts a supervisor as the root of a tree; resolves when all children are up. If one fails, the others stop
 * in reverse order, and it rejects with START_FAILED (`data.id` names the child, `cause` is its error). Wrong
 * options reject with BAD_OPTION, BAD_SPEC or DUPLICATE_ID before any start.
 */
export function startSupervisor(
  options: SupervisorOptions & Omit<RootOptions, 'name' | 'startTimeout'>,
): Promise<Supervisor> {
  const root = startRootWith(options, (own) => behaviourWith(own as SupervisorOptions))
  return handled(root.then((ref) => new Supervisor(ref)))
}

/** The child spec of a supervisor below another one. Throws BAD_OPTION, BAD_SPEC or DUPLICATE_ID. */
export function supervisorSpec(options: SupervisorOptions, overrides: ChildOverrides = {}): ChildSpec {
  return childSpec(behaviourWith(options), undefined, overrides)
}

/** Administers a supervisor that was started as a child. Throws BAD_OPTION for other processes. */
export function supervisorAt(ref: ProcessRef | undefined): Supervisor {
  if (answers(requests, ref)) return new Supervisor(ref)
  throw optionError('ref', `supervisorAt: expected the reference of a supervisor, got ${show(ref)}`)
}

/** Read by `inspect`. */
interface SupervisorState {
  readonly strategy: Strategy
  readonly window: RestartWindow
  readonly autoShutdown: AutoShutdown
  /** In start order. */
  children: Child[]
}

function behaviourWith(options: SupervisorOptions) {
  const plan = readSupervisorOptions(options)
  return supervisorBehaviour<SupervisorState>({
    name: plan.name,
    init: (ctx) => startAll(plan, ctx),
    requests,
    ended: childEnded,
    restart: restartGroup,
    stopChildren: ({ children }) => stopAll(children),
  })
}

const requests = {
  startChild: (state: SupervisorState, spec: FullChildSpec, ctx: ActorContext) =>
    answer(() => addChild(state, spec, ctx)),
  terminateChild: (state: SupervisorState, id: string) => answer(() => terminateChild(state, id)),
  restartChild: (state: SupervisorState, id: string, ctx: ActorContext) =>
    answer(() => restartChild(state, id, ctx)),
  deleteChild: (state: SupervisorState, id: string) => answer(async () => deleteChild(state, id)),
  children: (state: SupervisorState) => state.children.map(childInfo).reverse(),
  count: (state: SupervisorState) => count(state.children),
  childSpec: (state: SupervisorState, id: string) => answer(async () => find(state, id).spec),
}

async function startAll(plan: SupervisorPlan, ctx: ActorContext): Promise<SupervisorState> {
  const { strategy, intensity, periodMs, autoShutdown } = plan
  const supervisor = processOf(ctx.self)
  const state: SupervisorState = {
    strategy,
    window: new RestartWindow(intensity, periodMs),
    autoShutdown,
    children: [],
  }
  supervisor.slots = () => state.children
  for (const spec of plan.children) {
    const child = new Child(spec, supervisor)
    state.children.push(child)
    try {
      const { ref } = await startChild(child, ctx, false)
      if (ref === undefined && spec.restart === 'temporary') state.children.pop()
    } catch (error) {
      reportChild(child, null, 'start_error', crash(error))
      state.children.pop()
      await stopAll(state.children)
      // If this supervisor is restarting itself, the name may come back with it.
      child.passNamesUp(crash(error))
      throw failedToStart(spec.id, error)
    }
  }
  return state
}

async function childEnded(
  state: SupervisorState,
  process: Process,
  reason: ExitReason,
  ctx: ActorContext,
): Promise<void> {
  const child = state.children.find((candidate) => candidate.process === process)
  // Not a child, or one that was stopped or replaced meanwhile.
  if (child === undefined) return
  const again = noteEnd(child, process, reason)
  if (child.spec.restart === 'temporary') drop(state, child)
  if (!again && child.spec.significant && isLastWord(state, child)) return ctx.stop(shutdown)
  if (!again) return
  if (process.released !== null) await process.released
  await restartGroup(state, child, reason, ctx)
}

/** Whether the end of a significant child ends the supervisor (OTP-60, OTP-61). */
function isLastWord({ autoShutdown, children }: SupervisorState, ended: Child): boolean {
  if (autoShutdown !== 'all_significant') return autoShutdown === 'any_significant'
  return !children.some((child) => child !== ended && child.spec.significant && child.status !== 'stopped')
}

/** One restart, counted once for all the children it touches. */
async function restartGroup(
  state: SupervisorState,
  failed: Child,
  reason: ExitReason,
  ctx: ActorContext,
): Promise<void> {
  if (!state.window.add(failed.supervisor.tree.clock.now())) {
    drop(state, failed)
    return giveUp(failed, reason, ctx)
  }
  const plan = restartPlan(state.strategy, state.children, failed)
  for (const child of plan.stop) {
    await stopChild(child)
    if (child.spec.restart !== 'temporary') continue
    drop(state, child)
    child.settleNames(shutdown)
  }
  // Its turn may not come: should a start before it fail, it is one of those that are down meanwhile.
  failed.status = 'stopped'
  for (const child of plan.start) {
    if (state.children.includes(child) && (await tryRestart(child, ctx)) === undefined) return
  }
}

async function stopAll(children: Child[]): Promise<void> {
  for (const child of [...children].reverse()) await stopChild(child)
}

async function addChild(
  state: SupervisorState,
  spec: FullChildSpec,
  ctx: ActorContext,
): Promise<ChildStarted> {
  if (state.autoShutdown === 'never') refuseSignificant(spec, 'unless the supervisor has autoShutdown')
  const known = state.children.find((child) => child.spec.id === spec.id)
  if (known?.process === null) {
    throw new RuntimeError(
      'ALREADY_PRESENT',
      `child ${show(spec.id)} is known, but not running: restart or delete it`,
    )
  }
  if (known !== undefined) {
    throw new RuntimeError('ALREADY_STARTED', `child ${show(spec.id)} is running already`, {
      data: { ref: known.process?.ref },
    })
  }
  const child = new Child(spec, processOf(ctx.self))
  child.previous = leavingAs(spec.id, child.supervisor)
  state.children.push(child)
  try {
    const started = await startChild(child, ctx, false)
    if (started.ref === undefined && spec.restart === 'temporary') drop(state, child)
    return started
  } catch (error) {
    drop(state, child)
    child.settleNames(crash(error))
    throw failedToStart(spec.id, error)
  }
}

/** Whose spec is gone, but not yet all that it owned. */
function leavingAs(id: string, { extras }: Process): Process | null {
  for (const process of extras?.leaving ?? [])
    if (process.slot instanceof Child && process.slot.spec.id === id) return process
  return null
}

async function terminateChild(state: SupervisorState, id: string): Promise<void> {
  const child = find(state, id)
  const restarting = child.status === 'restarting'
  await stopChild(child)
  child.settleNames(shutdown)
  if (child.spec.restart === 'temporary') drop(state, child)
  if (!restarting) return
  // Siblings that were to start after it stay down (as in OTP): their names end.
  for (const other of state.children) if (other.status === 'stopped') other.settleNames(shutdown)
}

async function restartChild(state: SupervisorState, id: string, ctx: ActorContext): Promise<ChildStarted> {
  const child = findIdle(state, id)
  try {
    return await startChild(child, ctx, false)
  } catch (error) {
    child.settleNames(crash(error))
    throw failedToStart(id, error)
  }
}

function deleteChild(state: SupervisorState, id: string): void {
  const child = findIdle(state, id)
  drop(state, child)
  child.settleNames(shutdown)
}

function findIdle(state: SupervisorState, id: string): Child {
  const child = find(state, id)
  if (child.status === 'restarting')
    throw new RuntimeError('RESTARTING', `child ${show(id)} is about to be restarted`)
  if (child.process !== null) throw new RuntimeError('RUNNING', `child ${show(id)} is running`)
  return child
}

function find(state: SupervisorState, id: string): Child {
  const child = state.children.find((candidate) => candidate.spec.id === id)
  if (child !== undefined) return child
  const known = state.children.map((candidate) => candidate.spec.id).join(', ')
  throw new RuntimeError('NOT_FOUND', `expected the id of a child among [${known}], got ${show(id)}`)
}

function drop(state: SupervisorState, child: Child): void {
  state.children = state.children.filter((other) => other !== child)
}
