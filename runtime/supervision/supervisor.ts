import type { Actor } from '../process/actor.js'
import { behaviourOf, type Exit } from '../process/behaviour.js'
import { Child, type ChildStarted, reportChild, startChild, stopChild } from './child.js'
import { type FullChildSpec, refuseSignificant } from './child-spec.js'
import type { ActorContext } from '../process/context.js'
import { RuntimeError, show } from '../base/errors.js'
import { crash, type ExitReason, shutdown } from '../base/exit.js'
import { type ProcessRef, processOf } from '../process/ref.js'
import { answer, failedToStart, giveUp, noteEnd, Retry, tryRestart } from './restart.js'
import { RestartWindow } from './restart-window.js'
import { restartPlan, type Strategy } from './strategy.js'
import type { ChildCount, ChildInfo } from './handle.js'
import type { AutoShutdown, SupervisorPlan } from './options.js'

/** What a supervisor knows; read by inspection as well. */
export interface SupervisorState {
  readonly strategy: Strategy
  readonly window: RestartWindow
  readonly autoShutdown: AutoShutdown
  /** In start order. */
  children: Child[]
}

/** The behaviour of a supervisor as planned. */
export function supervisorBehaviour(plan: SupervisorPlan) {
  return behaviourOf(
    {
      name: plan.name,
      trapExit: true,
      stray: 'report',
      mailboxLimit: Number.POSITIVE_INFINITY,
      init: (_: undefined, ctx: ActorContext) => startAll(plan, ctx),
      call: requests,
      info: {
        exit: (state: SupervisorState, exit: Exit, ctx: ActorContext) => childEnded(state, exit, ctx),
        message: (state: SupervisorState, message: unknown, ctx: ActorContext) =>
          message instanceof Retry && message.due
            ? restartGroup(state, message.child, message.reason, ctx)
            : undefined,
      },
      terminate: (state: SupervisorState) => stopAll(state.children),
    },
    'supervisor',
  )
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

/** Whether a process is a supervisor with specs and ids, not a dynamic one. */
export function isSupervisor(ref: ProcessRef): boolean {
  const process = processOf(ref)
  return (
    process.kind === 'supervisor' && (process as Actor).behaviour.definition.call === (requests as unknown)
  )
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
      // If this supervisor is being restarted itself, its own supervisor tries again, and the name may come
      // back.
      child.passNamesUp(crash(error))
      throw failedToStart(spec.id, error)
    }
  }
  return state
}

async function childEnded(state: SupervisorState, { from, reason }: Exit, ctx: ActorContext): Promise<void> {
  const process = from === null ? null : processOf(from)
  const child = state.children.find((candidate) => candidate.process === process)
  // An exit of somebody else, or of a child that was stopped or replaced meanwhile.
  if (process === null || child === undefined) return
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

/** One restart, counted once however many children it touches. */
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

async function terminateChild(state: SupervisorState, id: string): Promise<void> {
  const child = find(state, id)
  const restarting = child.status === 'restarting'
  await stopChild(child)
  child.settleNames(shutdown)
  if (child.spec.restart === 'temporary') drop(state, child)
  if (!restarting) return
  // Siblings that were to be started after it stay down (as in OTP): nobody shall wait for their names.
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

/** A child as `children()` lists it. */
export function childInfo({ spec, process, status, restarts }: Child): ChildInfo {
  return { id: spec.id, ref: process?.ref, status, type: spec.type, restarts }
}

/** Counts children (OTP: count_children). */
export function count(children: readonly Child[]): ChildCount {
  const supervisors = children.filter((child) => child.spec.type === 'supervisor').length
  const active = children.filter((child) => child.process !== null).length
  return { specs: children.length, active, supervisors, workers: children.length - supervisors }
}
