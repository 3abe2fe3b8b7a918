import { RuntimeError, show, optionError } from '../base/errors.js'
import { crash, type ExitReason, shutdown } from '../base/exit.js'
import { handled } from '../base/promise.js'
import { refused } from '../process/call.js'
import type { ActorContext } from '../process/context.js'
import { type Process, ProcessRef, processOf } from '../process/process.js'
import { type RootOptions, startRootWith } from '../process/root.js'
import {
  Child,
  type ChildStarted,
  giveUp,
  noteEnd,
  sendRetry,
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
import { type DynamicSupervisorOptions, readDynamicSupervisorOptions } from './options.js'
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

/** Read by `inspect`. */
interface DynamicState {
  readonly strategy: 'one_for_one'
  readonly window: RestartWindow
  readonly maxChildren: number
  readonly children: Set<Child>
}

/** One incarnation of a dynamic supervisor; its children stop all at once (Elixir: DynamicSupervisor). */
export class DynamicSupervisor extends SupervisorHandle {
  /** Starts a child; ids need not be unique. Rejects with MAX_CHILDREN, START_FAILED or BAD_SPEC. */
  startChild(spec: ChildSpec): Promise<ChildStarted> {
    try {
      const full = readChildSpec(spec)
      refuseSignificant(full, 'under a dynamic supervisor')
      return this.request('startChild', full)
    } catch (error) {
      return refused(error)
    }
  }

  /** Stops a child by its reference, also while it restarts. Rejects with NOT_FOUND or BAD_OPTION. */
  terminateChild(ref: ProcessRef): Promise<void> {
    if (ref instanceof ProcessRef) return this.request('terminateChild', ref)
    return refused(optionError('ref', `terminateChild: expected the reference of a child, got ${show(ref)}`))
  }
}

/** Starts a dynamic supervisor as the root of a tree. Rejects with BAD_OPTION. */
export function startDynamicSupervisor(
  options: DynamicSupervisorOptions & Omit<RootOptions, 'name' | 'startTimeout'> = {},
): Promise<DynamicSupervisor> {
  const root = startRootWith(options, (own) => behaviourWith(own))
  return handled(root.then((ref) => new DynamicSupervisor(ref)))
}

/** The child spec of a dynamic supervisor. Throws BAD_OPTION. */
export function dynamicSupervisorSpec(
  options: DynamicSupervisorOptions = {},
  overrides: ChildOverrides = {},
): ChildSpec {
  return childSpec(behaviourWith(options), undefined, overrides)
}

/** Administers a dynamic supervisor that was started as a child. Throws BAD_OPTION for other processes. */
export function dynamicSupervisorAt(ref: ProcessRef | undefined): DynamicSupervisor {
  if (answers(requests, ref)) return new DynamicSupervisor(ref)
  throw optionError(
    'ref',
    `dynamicSupervisorAt: expected the reference of a dynamic supervisor, got ${show(ref)}`,
  )
}

function behaviourWith(options: DynamicSupervisorOptions) {
  const { name, maxChildren, intensity, periodMs } = readDynamicSupervisorOptions(options)
  return supervisorBehaviour<DynamicState>({
    name,
    init(ctx) {
      const window = new RestartWindow(intensity, periodMs)
      const state: DynamicState = { strategy: 'one_for_one', window, maxChildren, children: new Set() }
      processOf(ctx.self).slots = () => state.children
      return state
    },
    requests,
    ended: childEnded,
    restart,
    stopChildren: ({ children }) => Promise.all([...children].map(stopChild)),
  })
}

const requests = {
  startChild: (state: DynamicState, spec: FullChildSpec, ctx: ActorContext) =>
    answer(() => addChild(state, spec, ctx)),
  terminateChild: (state: DynamicState, ref: ProcessRef) => answer(() => terminateChild(state, ref)),
  children: (state: DynamicState) => [...state.children].map(childInfo),
  count: (state: DynamicState) => count([...state.children]),
}

async function addChild(state: DynamicState, spec: FullChildSpec, ctx: ActorContext): Promise<ChildStarted> {
  const { children, maxChildren } = state
  if (children.size >= maxChildren) {
    const message = `${ctx.self.name}: ${children.size} children are running already`
    throw new RuntimeError('MAX_CHILDREN', message, { retryable: true, data: { maxChildren } })
  }
  const child = new Child(spec, processOf(ctx.self))
  children.add(child)
  try {
    const started = await startChild(child, ctx, false)
    if (started.ref === undefined) children.delete(child)
    return started
  } catch (error) {
    children.delete(child)
    child.settleNames(crash(error))
    throw failedToStart(spec.id, error)
  }
}

async function terminateChild(state: DynamicState, ref: ProcessRef): Promise<void> {
  const process = processOf(ref)
  const child = process.slot
  if (
    !(child instanceof Child && state.children.has(child) && (child.process ?? child.previous) === process)
  ) {
    throw new RuntimeError('NOT_FOUND', `expected a reference to a child, got ${ref.name} ${ref.id}`)
  }
  state.children.delete(child)
  await stopChild(child)
  child.settleNames(shutdown)
}

async function childEnded(
  state: DynamicState,
  process: Process,
  reason: ExitReason,
  ctx: ActorContext,
): Promise<void> {
  const child = process.slot
  if (!(child instanceof Child && child.process === process && state.children.has(child))) return
  if (!noteEnd(child, process, reason)) return void state.children.delete(child)
  if (process.released === null) return restart(state, child, reason, ctx)
  // Other children are served while this one releases its resources.
  void process.released.then(() => {
    if (child.previous === process) sendRetry(child, reason, ctx)
  })
}

async function restart(
  state: DynamicState,
  child: Child,
  reason: ExitReason,
  ctx: ActorContext,
): Promise<void> {
  if (!state.window.add(child.supervisor.tree.clock.now())) {
    state.children.delete(child)
    return giveUp(child, reason, ctx)
  }
  const started = await tryRestart(child, ctx)
  if (started !== undefined && started.ref === undefined) state.children.delete(child)
}
