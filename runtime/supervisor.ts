import { behaviourOf, type Exit, type Refusal, refuse } from './behaviour.js'
import { Child, type ChildStarted, reportChild, startChild, stopChild } from './child.js'
import { type ChildSpec, type FullChildSpec, readChildSpecs } from './child-spec.js'
import type { ActorContext } from './context.js'
import { RuntimeError, show } from './errors.js'
import { crash, type ExitReason, isNormal, shutdown } from './exit.js'
import { type ProcessRef, processOf } from './ref.js'
import { RestartWindow } from './restart-window.js'
import { restartPlan, type Strategy, shouldRestart } from './strategy.js'

/** What a supervisor is made of. */
export interface SupervisorOptions {
  /** Shown in trees, reports and errors. Default `supervisor`. */
  name?: string
  /** Which children are started again when one of them dies; there is no default (as in Elixir). */
  strategy: Strategy
  /** Restarts within `periodMs` that are still fine; one more, and the supervisor gives up. Default 3. */
  intensity?: number
  /** Milliseconds that restarts are counted over. Default 5000. */
  periodMs?: number
  /** The children in start order. */
  children?: readonly ChildSpec[]
}

/** What a supervisor knows; read by inspection as well. */
export interface SupervisorState {
  readonly strategy: Strategy
  readonly window: RestartWindow
  /** In start order. */
  children: Child[]
}

/** One child as `children()` lists it. */
export interface ChildInfo {
  readonly id: string
  readonly ref: ProcessRef | undefined
  readonly status: 'running' | 'restarting' | 'stopped'
  readonly type: 'worker' | 'supervisor'
  readonly restarts: number
}

/** Checks supervisor options and fills in the defaults; throws BAD_OPTION, BAD_SPEC or DUPLICATE_ID. */
export function readSupervisorOptions(options: SupervisorOptions): Required<SupervisorOptions> {
  if (typeof options !== 'object' || options === null) throw bad('options', 'an object', options)
  const { name = 'supervisor', strategy, intensity = 3, periodMs = 5_000, children = [] } = options
  if (typeof name !== 'string' || name === '') throw bad('name', 'a non-empty string', name)
  if (!strategies.has(strategy)) throw bad('strategy', 'one_for_one, one_for_all or rest_for_one', strategy)
  if (!(typeof intensity === 'number' && intensity >= 0)) throw bad('intensity', 'a number of 0 or more', intensity)
  if (!(typeof periodMs === 'number' && periodMs > 0)) throw bad('periodMs', 'milliseconds above 0', periodMs)
  readChildSpecs(children)
  return { name, strategy, intensity, periodMs, children }
}

const strategies = new Set<unknown>(['one_for_one', 'one_for_all', 'rest_for_one'])

/** The behaviour of a supervisor with these options (already checked). */
export function supervisorBehaviour(options: Required<SupervisorOptions>) {
  const { name, strategy, intensity, periodMs, children } = options
  return behaviourOf(
    {
      name,
      trapExit: true,
      stray: 'report',
      mailboxLimit: Number.POSITIVE_INFINITY,
      init: (_: undefined, ctx: ActorContext) => startAll(readChildSpecs(children), new RestartWindow(intensity, periodMs), strategy, ctx),
      call: {
        startChild: (state: SupervisorState, spec: FullChildSpec, ctx: ActorContext) => answer(() => addChild(state, spec, ctx)),
        terminateChild: (state: SupervisorState, id: string) => answer(() => terminateChild(state, id)),
        restartChild: (state: SupervisorState, id: string, ctx: ActorContext) => answer(() => restartChild(state, id, ctx)),
        deleteChild: (state: SupervisorState, id: string) => answer(async () => deleteChild(state, id)),
        children: (state: SupervisorState) => state.children.map(childInfo).reverse(),
        count: (state: SupervisorState) => count(state.children),
        childSpec: (state: SupervisorState, id: string) => answer(async () => find(state, id).spec),
      },
      info: {
        exit: (state: SupervisorState, exit: Exit, ctx: ActorContext) => childEnded(state, exit, ctx),
        message: (state: SupervisorState, message: unknown, ctx: ActorContext) =>
          message instanceof Retry ? retry(state, message, ctx) : undefined,
      },
      terminate: (state: SupervisorState) => stopAll(state.children),
    },
    'supervisor',
  )
}

/**
 * A restart that failed is tried again through the mailbox, not in a loop, so that other requests (a stop, for one) get in
 * between the attempts (OTP-47).
 */
class Retry {
  readonly child: Child
  readonly reason: ExitReason

  constructor(child: Child, reason: ExitReason) {
    this.child = child
    this.reason = reason
  }
}

/** A request that cannot be met is the caller's matter: it gets the error, and the supervisor goes on. */
export async function answer<T>(request: () => Promise<T>): Promise<T | Refusal> {
  try {
    return await request()
  } catch (error) {
    if (error instanceof RuntimeError) return refuse(error)
    throw error
  }
}

async function startAll(specs: FullChildSpec[], window: RestartWindow, strategy: Strategy, ctx: ActorContext): Promise<SupervisorState> {
  const supervisor = processOf(ctx.self)
  const state: SupervisorState = { strategy, window, children: [] }
  supervisor.slots = () => state.children
  for (const spec of specs) {
    const child = new Child(spec, supervisor)
    state.children.push(child)
    try {
      const { ref } = await startChild(child, ctx, false)
      if (ref === undefined && spec.restart === 'temporary') state.children.pop()
    } catch (error) {
      reportChild(child, null, 'start_error', crash(error))
      state.children.pop()
      await stopAll(state.children)
      child.settleNames(crash(error))
      throw failedToStart(spec.id, error)
    }
  }
  return state
}

function failedToStart(id: string, error: unknown): RuntimeError {
  const message = error instanceof Error ? error.message : String(error)
  return new RuntimeError('START_FAILED', `child ${show(id)} failed to start: ${message}`, { cause: error, data: { id } })
}

async function childEnded(state: SupervisorState, { from, reason }: Exit, ctx: ActorContext): Promise<void> {
  const process = from === null ? null : processOf(from)
  const child = state.children.find((candidate) => candidate.process === process)
  // An exit of somebody else, or of a child that was stopped or replaced meanwhile.
  if (process === null || child === undefined) return
  child.process = null
  child.status = 'stopped'
  const { restart } = child.spec
  if (restart === 'permanent' || !isNormal(reason)) reportChild(child, process, 'child_terminated', reason)
  if (!shouldRestart(restart, reason)) {
    if (restart === 'temporary') drop(state, child)
    child.settleNames(reason)
    return
  }
  if (process.released !== null) await process.released
  await restartGroup(state, child, reason, ctx)
}

async function retry(state: SupervisorState, { child, reason }: Retry, ctx: ActorContext): Promise<void> {
  if (child.status !== 'restarting' || !state.children.includes(child)) return
  await restartGroup(state, child, reason, ctx)
}

/** One restart, counted once however many children it touches. */
async function restartGroup(state: SupervisorState, failed: Child, reason: ExitReason, ctx: ActorContext): Promise<void> {
  if (!state.window.add(processOf(ctx.self).tree.clock.now())) return giveUp(state, failed, reason, ctx)
  const plan = restartPlan(state.strategy, state.children, failed)
  for (const child of plan.stop) {
    await stopChild(child)
    if (child.spec.restart !== 'temporary') continue
    drop(state, child)
    child.settleNames(shutdown)
  }
  for (const child of plan.start) {
    if (!state.children.includes(child)) continue
    try {
      await startChild(child, ctx, true)
    } catch (error) {
      child.status = 'restarting'
      reportChild(child, null, 'start_error', crash(error))
      ctx.self.send(new Retry(child, crash(error)))
      return
    }
  }
}

function giveUp(state: SupervisorState, failed: Child, reason: ExitReason, ctx: ActorContext): void {
  reportChild(failed, null, 'shutdown', 'reached_max_restart_intensity')
  drop(state, failed)
  failed.passNamesUp(reason)
  ctx.stop(shutdown)
}

async function stopAll(children: Child[]): Promise<void> {
  for (const child of [...children].reverse()) await stopChild(child)
}

async function addChild(state: SupervisorState, spec: FullChildSpec, ctx: ActorContext): Promise<ChildStarted> {
  const known = state.children.find((child) => child.spec.id === spec.id)
  if (known !== undefined) {
    if (known.process === null) throw new RuntimeError('ALREADY_PRESENT', `child ${show(spec.id)} is known, but not running: restart or delete it`)
    throw new RuntimeError('ALREADY_STARTED', `child ${show(spec.id)} is running already`, { data: { ref: known.process.ref } })
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
  await stopChild(child)
  child.settleNames(shutdown)
  if (child.spec.restart === 'temporary') drop(state, child)
}

async function restartChild(state: SupervisorState, id: string, ctx: ActorContext): Promise<ChildStarted> {
  const child = findIdle(state, id)
  try {
    return await startChild(child, ctx, false)
  } catch (error) {
    throw failedToStart(id, error)
  }
}

function deleteChild(state: SupervisorState, id: string): void {
  drop(state, findIdle(state, id))
}

function findIdle(state: SupervisorState, id: string): Child {
  const child = find(state, id)
  if (child.status === 'restarting') throw new RuntimeError('RESTARTING', `child ${show(id)} is about to be restarted`)
  if (child.process !== null) throw new RuntimeError('RUNNING', `child ${show(id)} is running`)
  return child
}

function find(state: SupervisorState, id: string): Child {
  const child = state.children.find((candidate) => candidate.spec.id === id)
  if (child === undefined) {
    const known = state.children.map((candidate) => candidate.spec.id).join(', ')
    throw new RuntimeError('NOT_FOUND', `expected the id of a child among [${known}], got ${show(id)}`)
  }
  return child
}

function drop(state: SupervisorState, child: Child): void {
  state.children = state.children.filter((other) => other !== child)
}

/** A child as `children()` lists it. */
export function childInfo({ spec, process, status, restarts }: Child): ChildInfo {
  return { id: spec.id, ref: process?.ref, status, type: spec.type, restarts }
}

/** How many children there are, by kind: `supervisors` and `workers` count specs, alive or not. */
export interface ChildCount {
  readonly specs: number
  readonly active: number
  readonly supervisors: number
  readonly workers: number
}

/** Counts children (OTP: count_children). */
export function count(children: readonly Child[]): ChildCount {
  const supervisors = children.filter((child) => child.spec.type === 'supervisor').length
  const active = children.filter((child) => child.process !== null).length
  return { specs: children.length, active, supervisors, workers: children.length - supervisors }
}

function bad(field: string, expected: string, got: unknown): RuntimeError {
  return new RuntimeError('BAD_OPTION', `${field}: expected ${expected}, got ${show(got)}`, { data: { field } })
}
