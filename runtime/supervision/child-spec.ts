import { among } from '../base/near.js'
import type { Behaviour, Handlers, Ignore } from '../process/behaviour.js'
import type { ActorContext } from '../process/context.js'
import { RuntimeError, show } from '../base/errors.js'
import type { ProcessRef } from '../process/ref.js'
import {
  checkBehaviour,
  isStartTimeout,
  type StartArgs,
  startFields,
  type StartOptions,
} from '../process/start.js'
import type { Restart } from './strategy.js'

/** How a child is stopped: killed at once, or asked and killed after that many ms, or never. */
export type Shutdown = 'brutal_kill' | 'infinity' | number

/** The answer of a child's start: its reference, also with something extra for the caller, or `ignore`. */
export type StartAnswer = ProcessRef | { ref: ProcessRef; extra?: unknown } | Ignore

/** A child of a supervisor, as data (OTP: child specification). */
export interface ChildSpec {
  /** Unique among its siblings. */
  id: string
  /** Starts the child: `(ctx) => ctx.start(behaviour, input)`. A throw is a failed start. */
  start(ctx: ActorContext): StartAnswer | Promise<StartAnswer>
  /** Default `permanent`. */
  restart?: Restart
  /** Default 5000 ms, for supervisors `infinity`. */
  shutdown?: Shutdown
  /** Default `worker`. */
  type?: 'worker' | 'supervisor'
  /** Its own end, without a restart, counts for `autoShutdown`; not for permanent ones. Default false. */
  significant?: boolean
}

export type FullChildSpec = Readonly<Required<ChildSpec>>

/** Fields that `childSpec` overrides; `name` is the registered name of the actor. */
export type ChildOverrides = Partial<Omit<ChildSpec, 'start'>> & StartOptions

/** The child spec of an actor; its id defaults to the behaviour's name. Throws BAD_BEHAVIOUR or BAD_SPEC. */
export function childSpec<State, Input, Calls extends Handlers<State>, Casts extends Handlers<State>>(
  behaviour: Behaviour<State, Input, Calls, Casts>,
  ...args: StartArgs<Input, ChildOverrides>
): ChildSpec {
  checkBehaviour(behaviour)
  const [input, given = {}] = args
  checkOverrides(behaviour.name, given)
  if (args.length === 1) checkInput(behaviour.name, behaviour.definition.init, input)
  const { name, startTimeout, ...overrides } = given
  const start = (ctx: ActorContext): Promise<ProcessRef> =>
    ctx.start(behaviour, ...([input, { name, startTimeout }] as StartArgs<Input>))
  const spec: ChildSpec = {
    id: behaviour.name,
    type: behaviour.kind === 'supervisor' ? 'supervisor' : 'worker',
    ...overrides,
    start,
  }
  readChildSpec(spec)
  return spec
}

const overridden = ['id', 'restart', 'shutdown', 'type', 'significant', ...startFields]

/** Overrides are no input, where `init` takes none. */
function checkInput(name: string, init: { readonly length: number }, input: unknown): void {
  if (init.length > 0 || typeof input !== 'object' || input === null) return
  const given = Object.keys(input)
  if (given.length > 0 && given.every((field) => overridden.includes(field)))
    throw bad(name, 'input', 'none, as in childSpec(actor, undefined, { name })', input)
}

function checkOverrides(id: string, overrides: ChildOverrides): void {
  if (typeof overrides !== 'object' || overrides === null) throw bad(id, 'overrides', 'an object', overrides)
  for (const field of Object.keys(overrides))
    if (!overridden.includes(field)) throw bad(id, field, among('a field', overridden, field), field)
  const { name, startTimeout } = overrides
  if (name !== undefined && (typeof name !== 'string' || name === ''))
    throw bad(id, 'name', 'a non-empty string', name)
  if (!isStartTimeout(startTimeout)) throw bad(id, 'startTimeout', 'milliseconds above 0', startTimeout)
}

const fields = new Set(['id', 'start', 'restart', 'shutdown', 'type', 'significant'])
const restarts = new Set<unknown>(['permanent', 'transient', 'temporary'])

/** Checks a child spec and fills in its defaults. Throws BAD_SPEC, naming the field. */
export function readChildSpec(spec: ChildSpec): FullChildSpec {
  if (typeof spec !== 'object' || spec === null || Array.isArray(spec) || 'definition' in spec)
    throw bad('child', 'spec', 'what childSpec(actor, input) returns', spec)
  const { id, start, restart = 'permanent', type = 'worker', significant = false } = spec
  const { shutdown = type === 'supervisor' ? 'infinity' : 5_000 } = spec
  if (typeof id !== 'string' || id === '') throw bad('child', 'id', 'a non-empty string', id)
  for (const field of Object.keys(spec))
    if (!fields.has(field)) throw bad(id, field, among('a field', [...fields], field), field)
  if (typeof start !== 'function') throw bad(id, 'start', 'a function', start)
  if (!restarts.has(restart)) throw bad(id, 'restart', 'permanent, transient or temporary', restart)
  if (type !== 'worker' && type !== 'supervisor') throw bad(id, 'type', 'worker or supervisor', type)
  if (!isShutdown(shutdown))
    throw bad(id, 'shutdown', "'brutal_kill', 'infinity' or milliseconds of 0 or more", shutdown)
  if (typeof significant !== 'boolean') throw bad(id, 'significant', 'a boolean', significant)
  if (significant && restart === 'permanent')
    throw bad(id, 'significant', 'false for a permanent child, which always comes back', significant)
  return Object.freeze({ id, start, restart, shutdown, type, significant })
}

/** Checks several child specs; throws BAD_SPEC, or DUPLICATE_ID when two have one id. */
export function readChildSpecs(specs: readonly ChildSpec[]): FullChildSpec[] {
  if (!Array.isArray(specs))
    throw new RuntimeError('BAD_SPEC', `children: expected an array of child specs, got ${show(specs)}`)
  const seen = new Set<string>()
  return specs.map((spec) => {
    const full = readChildSpec(spec)
    if (seen.has(full.id))
      throw new RuntimeError('DUPLICATE_ID', `children: two children have the id ${show(full.id)}`, {
        data: { id: full.id },
      })
    seen.add(full.id)
    return full
  })
}

function isShutdown(value: unknown): boolean {
  return value === 'brutal_kill' || value === 'infinity' || (typeof value === 'number' && value >= 0)
}

function bad(id: string, field: string, expected: string, got: unknown): RuntimeError {
  return new RuntimeError('BAD_SPEC', `child ${show(id)}: ${field}: expected ${expected}, got ${show(got)}`, {
    data: { id, field },
  })
}

/** Throws BAD_SPEC for a significant child; `why` says why it cannot be. */
export function refuseSignificant({ id, significant }: FullChildSpec, why: string): void {
  if (significant) throw bad(id, 'significant', `false ${why}`, significant)
}
