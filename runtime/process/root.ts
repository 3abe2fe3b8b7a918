import { watchLoop, type WatchdogOptions } from '../watchdog/watchdog.js'
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

/** Options of a whole tree, given where its root is started. */
export interface TreeOptions extends WatchdogOptions {
  /**
   * The clock of the tree, or a whole `World`: then turns, chance and ids come from there, too. Default: those of
   * this machine.
   */
  clock?: Clock
  /** The names of this tree; several trees may share a registry. Default: its own. */
  registry?: Registry
  /**
   * What an error without an owner does. With `report` it is reported, the tree is marked as degraded, and
   * tree and program go on. With `stop` the tree ends. With `exit` the tree has no say. If no living tree
   * reports it, and the program has no listener of its own for such errors, the program ends: trees stop in
   * order (5 s at most), stack on standard error, exit code 1. Default `report`, except for a failure of the
   * main module; `exit` for clients.
   */
  unowned?: Unowned
}

/** What a tree is started with. */
export interface RootOptions extends StartOptions, TreeOptions, LogOptions {}

/**
 * Starts an actor as the root of its own tree; resolves when its `init` is done. Rejects with START_FAILED
 * (`cause` is what `init` threw), START_TIMEOUT, IGNORED, ALREADY_STARTED (`data.ref`), BAD_BEHAVIOUR,
 * BAD_OPTION, or ACTOR_DEAD when a dead incarnation asks.
 */
export function startActor<State, Input, Calls extends Handlers<State>, Casts extends Handlers<State>>(
  behaviour: Behaviour<State, Input, Calls, Casts>,
  ...args: StartArgs<Input, RootOptions>
): Promise<ActorRef<Calls, Casts>> {
  const [input, options] = args
  return handled(startRoot(behaviour, input, options)) as Promise<ActorRef<Calls, Casts>>
}

/** Starts a tree with its root; removes it again when the start fails. */
async function startRoot(behaviour: unknown, input: unknown, options: RootOptions = {}): Promise<ActorRef> {
  refuseDead()
  checkFields(options, rootFields)
  const { name, startTimeout, logger, logLevels } = options
  const registry = readRegistry(options.registry)
  const tree = new Tree(options.clock, options.unowned, { logger, logLevels })
  const home: Home = { tree, registry, contextOf: (actor) => new ActorContext(actor, home) }
  const undo: (() => void)[] = []
  const detach = (): void => {
    for (const each of undo) each()
  }
  try {
    undo.push(
      watchLoop(tree.id, options),
      logReports({ logger, logLevels, tree: tree.id, world: tree.world }),
    )
    const root = await startProcess(home, null, behaviour, input, { name, startTimeout })
    root.onExit(() => void tree.world.setImmediate(detach))
    return root
  } catch (error) {
    tree.close()
    tree.world.setImmediate(detach)
    throw error
  }
}

const rootFields = [
  ...startFields,
  'clock',
  'registry',
  'unowned',
  'onBlocked',
  'blockedAfter',
  'logger',
  'logLevels',
]

function readRegistry(registry: Registry | undefined): Registry {
  if (registry === undefined) return new Registry()
  if (registry instanceof Registry) return registry
  throw optionError('registry', 'registry: expected a Registry')
}

/** A dead incarnation starts no tree. */
function refuseDead(): void {
  const owner = currentOwner()
  if (owner?.fenced !== true) return
  if (owner.afterlife !== null) owner.afterlife.refused += 1
  throw new RuntimeError('ACTOR_DEAD', `${owner.name} has ended: it starts no tree`)
}

/** Starts a root whose options are mixed with those of the tree. */
export async function startRootWith(
  options: TreeOptions & LogOptions,
  behaviourWith: (own: object) => unknown,
): Promise<ActorRef> {
  if (typeof options !== 'object' || options === null) throw badOption('options', 'an object', options)
  const { clock, registry, unowned, onBlocked, blockedAfter, logger, logLevels, ...own } = options
  const treeWide = { clock, registry, unowned, onBlocked, blockedAfter, logger, logLevels } as RootOptions
  return startRoot(behaviourWith(own), undefined, treeWide)
}
