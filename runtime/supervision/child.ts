import { RuntimeError, show } from '../base/errors.js'
import { crash, type ExitReason, isNormal, kill, noproc, shutdown } from '../base/exit.js'
import { emit, type SupervisorEvent } from '../faults/events.js'
import type { ActorContext } from '../process/context.js'
import { type Process, ProcessRef, processOf, Slot, whenEnded } from '../process/process.js'
import { ignore } from '../process/program.js'
import type { FullChildSpec, Shutdown, StartAnswer } from './child-spec.js'
import { shouldRestart } from './strategy.js'

/** A supervisor's record of a child. */
export class Child extends Slot {
  readonly spec: FullChildSpec
  process: Process | null = null
  /** The last incarnation, until the next is up. */
  previous: Process | null = null
  /** `restarting` from the end of one incarnation to the start of the next. */
  status: 'running' | 'restarting' | 'stopped' = 'stopped'
  retry: Retry | null = null
  restarts = 0

  constructor(spec: FullChildSpec, supervisor: Process) {
    super(supervisor, spec.restart !== 'temporary')
    this.spec = spec
  }
}

/** A running child and what its start handed over; `ref` is undefined after `ignore`. */
export interface ChildStarted {
  readonly ref: ProcessRef | undefined
  readonly extra: unknown
}

export async function startChild(child: Child, ctx: ActorContext, restarted: boolean): Promise<ChildStarted> {
  const { supervisor, spec } = child
  child.retry = null
  if (restarted) child.status = 'restarting'
  if (!restarted) warnOfSilence(child)
  if (child.previous !== null) await child.previous.released
  child.fill()
  const started = await runStart(child, ctx)
  const process = started.ref === undefined ? null : processOf(started.ref)
  const first = process?.slot === child
  if (process !== null) process.slot ??= child
  child.process = process
  child.previous = null
  child.status = process === null ? 'stopped' : 'running'
  if (restarted) child.restarts += 1
  settleNames(child, process, first)
  const facts = { id: spec.id, process: process?.id }
  emit('progress', () => ({ tree: supervisor.tree.id, supervisor: supervisor.name, child: facts, restarted }))
  return started
}

/** Ends earlier names that this incarnation did not take; if it has ended, its exit signal decides. */
function settleNames(child: Child, process: Process | null, first: boolean): void {
  if (process !== null && process.reason !== null) return
  if (first) child.settleEarlierNames(noproc)
  else child.settleNames(noproc)
}

/** A supervisor that gives up ends normally (`shutdown`); unless permanent, it stays dead (OTP-57). */
function warnOfSilence({ supervisor, spec }: Child): void {
  if (spec.type !== 'supervisor' || spec.restart === 'permanent') return
  const detail = { child: spec.id, restart: spec.restart }
  emit('notice', () => ({ ...supervisor.facts(), notice: 'branch_may_stay_dead', detail }))
}

async function runStart(child: Child, ctx: ActorContext): Promise<ChildStarted> {
  const { supervisor, spec } = child
  // The supervisor may have been killed meanwhile.
  if (supervisor.reason !== null) throw new RuntimeError('ACTOR_DEAD', `${supervisor.name} has ended`)
  supervisor.own.startingSlot = child
  try {
    return readAnswer(child, await spec.start(ctx))
  } catch (error) {
    if (error instanceof RuntimeError && error.code === 'IGNORED') return ignored
    throw error
  } finally {
    if (supervisor.extras !== null) supervisor.extras.startingSlot = null
  }
}

const ignored: ChildStarted = { ref: undefined, extra: undefined }

function readAnswer({ supervisor, spec }: Child, answer: StartAnswer): ChildStarted {
  if (answer === ignore) return ignored
  const started = answer instanceof ProcessRef ? { ref: answer, extra: undefined } : answer
  const ref: unknown = started?.ref
  if (!(ref instanceof ProcessRef))
    throw badAnswer(spec, 'a reference to a process, { ref, extra } or ignore', answer)
  // Another parent's process would neither end with this supervisor nor send it its exit.
  if (processOf(ref).parent !== supervisor)
    throw badAnswer(spec, 'a process started with the context given', ref)
  return { ref, extra: started.extra }
}

function badAnswer({ id }: FullChildSpec, expected: string, got: unknown): RuntimeError {
  return new RuntimeError('BAD_RETURN', `child ${show(id)}: start: expected ${expected}, got ${show(got)}`, {
    data: { id },
  })
}

/** Stops a child and waits for its release, through a monitor: a child may have unlinked itself. */
export async function stopChild(child: Child): Promise<void> {
  const { process, previous, spec } = child
  child.process = null
  child.previous = null
  child.retry = null
  child.status = 'stopped'
  if (process === null) return void (await previous?.released)
  const reason = await stopProcess(process, spec.shutdown)
  if (isUnexpected(reason, spec)) reportChild(child, process, 'shutdown_error', reason)
}

async function stopProcess(process: Process, how: Shutdown): Promise<ExitReason> {
  const { parent, tree } = process
  const { clock } = tree
  const ended = whenEnded(process)
  process.signal(parent, how === 'brutal_kill' ? kill : shutdown)
  const limited = typeof how === 'number' && process.reason === null
  const timer = limited ? clock.setTimeout(() => process.signal(parent, kill), how) : undefined
  const reason = await ended
  if (timer !== undefined) clock.clearTimeout(timer)
  await process.released
  return reason
}

function isUnexpected(reason: ExitReason, spec: FullChildSpec): boolean {
  if (spec.shutdown === 'brutal_kill' && reason.type === 'killed') return false
  if (reason.type === 'shutdown') return false
  return !(reason.type === 'normal' && spec.restart !== 'permanent')
}

/** Records and reports the end of a child; answers whether it is restarted. */
export function noteEnd(child: Child, process: Process, reason: ExitReason): boolean {
  const { restart } = child.spec
  const again = shouldRestart(restart, reason)
  child.process = null
  child.previous = process
  child.status = again ? 'restarting' : 'stopped'
  if (restart === 'permanent' || !isNormal(reason)) reportChild(child, process, 'child_terminated', reason)
  if (!again) child.settleNames(reason)
  return again
}

/** Restarts a child; undefined when that failed and the next attempt is queued. */
export async function tryRestart(child: Child, ctx: ActorContext): Promise<ChildStarted | undefined> {
  try {
    return await startChild(child, ctx, true)
  } catch (error) {
    if (child.supervisor.reason !== null) return undefined
    reportChild(child, null, 'start_error', crash(error))
    sendRetry(child, crash(error), ctx)
    return undefined
  }
}

export function sendRetry(child: Child, reason: ExitReason, ctx: ActorContext): void {
  if (child.supervisor.reason !== null) return
  child.retry = new Retry(child, reason)
  ctx.self.send(child.retry)
}

/** One restart too many: ends with `shutdown`, and the supervisor above decides (OTP-55). */
export function giveUp(child: Child, reason: ExitReason, ctx: ActorContext): void {
  reportChild(child, null, 'shutdown', 'reached_max_restart_intensity')
  child.passNamesUp(reason)
  ctx.stop(shutdown)
}

/** A failed restart retries through the mailbox, so that a stop or a request gets between (OTP-47). */
export class Retry {
  readonly child: Child
  readonly reason: ExitReason

  constructor(child: Child, reason: ExitReason) {
    this.child = child
    this.reason = reason
  }

  get due(): boolean {
    return this.child.retry === this
  }
}

export function reportChild(
  child: Child,
  process: Process | null,
  context: SupervisorEvent['context'],
  reason: SupervisorEvent['reason'],
): void {
  const { supervisor, spec } = child
  emit('supervisor', () => ({
    tree: supervisor.tree.id,
    supervisor: supervisor.name,
    context,
    reason,
    child: { id: spec.id, process: process?.id, restart: spec.restart },
  }))
}
