import type { Behaviour, Handlers } from './behaviour.js'
import { currentOwner } from '../faults/containment.js'
import { ActorContext } from './context.js'
import { RuntimeError } from '../base/errors.js'
import { type LogOptions, logReports } from '../faults/log.js'
import { badOption, checkFields } from '../base/check.js'
import { handled } from '../base/promise.js'
import type { ActorRef } from './ref.js'
import { type StartArgs, startFields, type StartOptions, startProcess } from './start.js'
import { Tree, type TreeOptions } from './tree.js'

/** How the root of a tree is started. */
export interface RootOptions extends StartOptions, TreeOptions, LogOptions {}

/**
 * Starts an actor as the root of a tree of its own, and resolves when its `init` is done. Rejects with
 * START_FAILED (`cause` is what `init` threw), START_TIMEOUT, IGNORED, ALREADY_STARTED (`data.ref`),
 * BAD_BEHAVIOUR, BAD_OPTION, or ACTOR_DEAD when a dead incarnation asks.
 */
export function startActor<State, Input, Calls extends Handlers<State>, Casts extends Handlers<State>>(
  behaviour: Behaviour<State, Input, Calls, Casts>,
  ...args: StartArgs<Input, RootOptions>
): Promise<ActorRef<Calls, Casts>> {
  const [input, options] = args
  return handled(startRoot(behaviour, input, options)) as Promise<ActorRef<Calls, Casts>>
}

/** Starts the root of a tree: makes what the tree shares, and takes it down again when the start fails. */
export async function startRoot(
  behaviour: unknown,
  input: unknown,
  options: RootOptions = {},
): Promise<ActorRef> {
  refuseDead()
  checkFields(options, rootFields)
  const tree = new Tree(options, (actor) => new ActorContext(actor))
  let detach = (): void => {}
  try {
    detach = logReports({ logger: options.logger, logLevels: options.logLevels, tree: tree.id })
    const root = await startProcess(tree, null, behaviour, input, startOptions(options))
    root.onExit(() => setImmediate(detach))
    return root
  } catch (error) {
    tree.fell()
    setImmediate(detach)
    throw error
  }
}

const rootFields = [...startFields, 'clock', 'registry', 'unowned', 'logger', 'logLevels']

function startOptions({ name, startTimeout }: RootOptions): StartOptions {
  const options: StartOptions = {}
  if (name !== undefined) options.name = name
  if (startTimeout !== undefined) options.startTimeout = startTimeout
  return options
}

/** A dead incarnation starts nothing: it would be nobody's. */
function refuseDead(): void {
  const owner = currentOwner()
  if (owner?.fenced !== true) return
  if (owner.afterlife !== null) owner.afterlife.refused += 1
  throw new RuntimeError('ACTOR_DEAD', `${owner.name} has ended: it starts no tree`)
}

/**
 * Takes the options of a supervisor at the root of a tree apart: its own, and those of the whole tree. Throws
 * BAD_OPTION.
 */
export function splitOptions(options: TreeOptions & LogOptions): { own: object; treeWide: RootOptions } {
  if (typeof options !== 'object' || options === null) throw badOption('options', 'an object', options)
  const { clock, registry, unowned, logger, logLevels, ...own } = options
  const treeWide: RootOptions = { logger, logLevels }
  if (clock !== undefined) treeWide.clock = clock
  if (registry !== undefined) treeWide.registry = registry
  if (unowned !== undefined) treeWide.unowned = unowned
  return { own, treeWide }
}
