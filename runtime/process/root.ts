import { badOption, checkFields } from '../base/check.js'
import { RuntimeError, optionError } from '../base/errors.js'
import { handled } from '../base/promise.js'
import { currentOwner } from '../faults/containment.js'
import { type LogOptions, logReports } from '../faults/log.js'
import type { Clock } from '../time/clock.js'
import type { Behaviour, Handlers } from './behaviour.js'
import { ActorContext } from './context.js'
import type { ActorRef } from './ref.js'
import { Registry } from './registry.js'
import { type Home, type StartArgs, startFields, type StartOptions, startProcess } from './start.js'
import { Tree, type Unowned } from './tree.js'

/** What a whole tree shares; given once, where its root is started. */
export interface TreeOptions {
  /** The time the tree lives by. Default: the clock of this machine. */
  clock?: Clock
  /**
   * Where names of this tree are kept; pass one registry to several trees to let them find each other.
   * Default: its own.
   */
  registry?: Registry
  /**
   * What an error without an owner does.
   * - `report`: it is reported, the tree is marked as degraded, and tree and program go on, whatever fails.
   * - `stop`: the tree ends.
   * - `exit`: the tree has no say.
   * If no living tree reports it, and the program does not listen for such errors itself, the program ends as
   * it would without this library: stack on standard error, exit code 1. Before that its trees are stopped in
   * order (5 s at most).
   *
   * Default `report`, except for a failure of the main module; `exit` for clients.
   */
  unowned?: Unowned
}

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
  const { name, startTimeout, logger, logLevels } = options
  const registry = readRegistry(options.registry)
  const tree = new Tree(options.clock, options.unowned)
  const home: Home = { tree, registry, contextOf: (actor) => new ActorContext(actor, home) }
  let detach = (): void => {}
  try {
    detach = logReports({ logger, logLevels, tree: tree.id })
    const root = await startProcess(home, null, behaviour, input, { name, startTimeout })
    root.onExit(() => setImmediate(detach))
    return root
  } catch (error) {
    tree.fell()
    setImmediate(detach)
    throw error
  }
}

const rootFields = [...startFields, 'clock', 'registry', 'unowned', 'logger', 'logLevels']

function readRegistry(registry: Registry | undefined): Registry {
  if (registry === undefined) return new Registry()
  if (registry instanceof Registry) return registry
  throw optionError('registry', 'registry: expected a Registry')
}

/** A dead incarnation starts nothing: it would be nobody's. */
function refuseDead(): void {
  const owner = currentOwner()
  if (owner?.fenced !== true) return
  if (owner.afterlife !== null) owner.afterlife.refused += 1
  throw new RuntimeError('ACTOR_DEAD', `${owner.name} has ended: it starts no tree`)
}

/** Starts the root of a tree whose options are its own and those of the whole tree. */
export async function startRootWith(
  options: TreeOptions & LogOptions,
  behaviourWith: (own: object) => unknown,
): Promise<ActorRef> {
  if (typeof options !== 'object' || options === null) throw badOption('options', 'an object', options)
  const { clock, registry, unowned, logger, logLevels, ...own } = options
  const treeWide = { clock, registry, unowned, logger, logLevels } as RootOptions
  return startRoot(behaviourWith(own), undefined, treeWide)
}
