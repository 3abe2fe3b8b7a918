import type { FullChildSpec, Shutdown, StartAnswer } from './child-spec.js'
import { ignore } from './behaviour.js'
import type { ActorContext } from './context.js'
import { RuntimeError, show } from './errors.js'
import { emit, type SupervisorEvent } from './events.js'
import { type ExitReason, kill, shutdown } from './exit.js'
import { Monitor } from './monitor.js'
import type { Process } from './process.js'
import { ProcessRef, processOf } from './ref.js'
import { Slot } from './slot.js'

/** A supervisor's record of one child: its spec and who fills the place now. */
export class Child extends Slot {
  readonly spec: FullChildSpec
  process: Process | null = null
  /** `restarting` between a failed restart and the next attempt. */
  status: 'running' | 'restarting' | 'stopped' = 'stopped'
  restarts = 0

  constructor(spec: FullChildSpec, supervisor: Process) {
    super(supervisor, spec.restart !== 'temporary')
    this.spec = spec
  }
}

/** What a start led to: a running child with what its start handed over, or `ignored`. */
export interface ChildStarted {
  readonly ref: ProcessRef | undefined
  readonly extra: unknown
}

/** Runs a child's start function; throws what made it fail. */
export async function startChild(child: Child, ctx: ActorContext, restarted: boolean): Promise<ChildStarted> {
  const { supervisor, spec } = child
  supervisor.own.startingSlot = child
  let started: ChildStarted
  try {
    started = readAnswer(spec.id, await spec.start(ctx))
  } catch (error) {
    if (!(error instanceof RuntimeError && error.code === 'IGNORED')) throw error
    started = ignored
  } finally {
    if (supervisor.belongings !== null) supervisor.belongings.startingSlot = null
  }
  const process = started.ref === undefined ? null : processOf(started.ref)
  if (process !== null && process.reason !== null) throw new RuntimeError('START_FAILED', `${spec.id}: ended while it was being started`, { data: { reason: process.reason } })
  if (process !== null) process.slot ??= child
  child.process = process
  child.status = process === null ? 'stopped' : 'running'
  if (restarted) child.restarts += 1
  child.settleNames({ type: 'noproc' })
  const facts = { id: spec.id, process: process?.id }
  emit('progress', () => ({ tree: supervisor.tree.id, supervisor: supervisor.name, child: facts, restarted }))
  return started
}

const ignored: ChildStarted = { ref: undefined, extra: undefined }

function readAnswer(id: string, answer: StartAnswer): ChildStarted {
  if (answer === ignore) return ignored
  if (answer instanceof ProcessRef) return { ref: answer, extra: undefined }
  if (typeof answer === 'object' && answer !== null && answer.ref instanceof ProcessRef) return { ref: answer.ref, extra: answer.extra }
  throw new RuntimeError('BAD_RETURN', `child ${show(id)}: start: expected a reference to a process, { ref, extra } or ignore, got ${show(answer)}`)
}

/**
 * Stops a child as its spec says and resolves once it is gone and its resources are released. Waits through a monitor, so that
 * a child which unlinked itself cannot be missed.
 */
export async function stopChild(child: Child): Promise<void> {
  const { process, spec } = child
  child.process = null
  child.status = 'stopped'
  if (process === null) return
  const reason = await stopProcess(process, spec.shutdown)
  if (isUnexpected(reason, spec)) reportChild(child, process, 'shutdown_error', reason)
}

async function stopProcess(process: Process, how: Shutdown): Promise<ExitReason> {
  const { parent, tree } = process
  const { clock } = tree
  const ended = process.reason === null ? watch(process) : Promise.resolve(process.reason)
  if (how === 'brutal_kill') process.signal(parent, kill)
  else process.signal(parent, shutdown)
  const timer = typeof how === 'number' && process.reason === null ? clock.setTimeout(() => process.signal(parent, kill), how) : undefined
  const reason = await ended
  if (timer !== undefined) clock.clearTimeout(timer)
  await process.released
  return reason
}

function watch(process: Process): Promise<ExitReason> {
  return new Promise((resolve) => {
    process.monitors ??= new Set()
    process.monitors.add(new Monitor(process, null, resolve))
  })
}

function isUnexpected(reason: ExitReason, spec: FullChildSpec): boolean {
  if (spec.shutdown === 'brutal_kill' && reason.type === 'killed') return false
  if (reason.type === 'shutdown') return false
  return !(reason.type === 'normal' && spec.restart !== 'permanent')
}

/** Tells of a child's end or failed start, as OTP's supervisor report does. */
export function reportChild(child: Child, process: Process | null, context: SupervisorEvent['context'], reason: SupervisorEvent['reason']): void {
  const { supervisor, spec } = child
  emit('supervisor', () => ({
    tree: supervisor.tree.id,
    supervisor: supervisor.name,
    context,
    reason,
    child: { id: spec.id, process: process?.id, restart: spec.restart },
  }))
}
