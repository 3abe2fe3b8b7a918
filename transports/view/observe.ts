import { basename } from 'node:path'
import { handled } from '../../runtime/base/promise.js'
import { lazy } from '../../runtime/faults/load.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import { childSpec } from '../../runtime/supervision/child-spec.js'
import { startSupervisor } from '../../runtime/supervision/supervise.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import { TransportError } from '../base/errors.js'
import { badOption, orElse, readFlag, readOptions, readPort, readText } from '../base/read-option.js'
import { prepareFolder, socketPath } from './programs.js'

/** How this program may be looked at. */
export interface ObserveOptions {
  /** What this program is called. Default: the name of its main file. */
  readonly name?: string
  /** The port of a page at `http://127.0.0.1`; 0 takes any that is free. Default: no page. */
  readonly port?: number
  /** Whether `caduceus observe` finds it, by a Unix domain socket of mode 0600. Default true; not on Windows. */
  readonly local?: boolean
  /** Whether whoever looks may kill, restart and trace processes. Default false. */
  readonly actions?: boolean
}

/** A program that may be looked at, until it is closed. */
export interface Observation extends AsyncDisposable {
  /** The address of the page, with its secret: whoever has it may look. Undefined without a page. */
  readonly url: string | undefined
  /** The local socket; undefined without one. */
  readonly path: string | undefined
  /** The supervisor of what answers. It is not shown, and keeps no program alive. */
  readonly ref: ProcessRef
  /** Ends it, and what is open. Never rejects. */
  close(): Promise<void>
}

const loadObserver = /* @__PURE__ */ lazy('../../transports/view/observer.js', () => import('./observer.js'))

const readers = {
  name: orElse(readText, basename(process.argv[1] ?? 'node').replace(/\.[cm]?[jt]sx?$/, '') || 'node'),
  port: orElse(readPort, undefined),
  local: orElse(readFlag, process.platform !== 'win32'),
  actions: orElse(readFlag, false),
}

/**
 * Lets people look at all process trees of this program while they run: in a browser (`port`), and in a
 * terminal (`caduceus observe`). What they see has no state, no messages, no arguments. While nobody looks,
 * crashes and restarts are kept, and nothing is read. Rejects with TransportError BAD_OPTION, naming the
 * field, and LISTEN_FAILED.
 */
export function observe(options: ObserveOptions = {}): Promise<Observation> {
  return handled(start(options))
}

async function start(options: ObserveOptions, world: World = systemWorld): Promise<Observation> {
  const { name, port, local, actions } = readOptions(options, readers)
  if (local && process.platform === 'win32')
    throw badOption('local', 'false on Windows: its pipes are not of one user alone', local)
  const { observer } = await loadObserver()
  if (local) prepareFolder()
  const place = { port, path: local ? socketPath(name, world) : undefined }
  const secret = world.randomBytes(24).toString('base64url')
  const settings = { name, actions, secret, place, leaveOut: new Set<number>() }
  const started = startSupervisor({
    name: 'observer',
    strategy: 'one_for_one',
    children: [childSpec(observer, settings)],
    unowned: 'exit',
    clock: idle(world),
  })
  const supervisor = await started.catch((error: unknown) => {
    throw causeOf(error)
  })
  const close = async (): Promise<void> => {
    if (supervisor.ref.alive) await supervisor.stop().catch(() => {})
  }
  return {
    url: place.port === undefined ? undefined : `http://127.0.0.1:${place.port}/#secret=${secret}`,
    path: place.path,
    ref: supervisor.ref,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Why it could not be started, without the words of those who started it. */
function causeOf(error: unknown): unknown {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof TransportError) return at
  return error
}

/** The world with timers that keep no program alive. */
function idle(world: World): World {
  return {
    ...world,
    setTimeout(fn, ms) {
      const timer = world.setTimeout(fn, ms)
      ;(timer as Partial<NodeJS.Timeout>).unref?.()
      return timer
    },
  }
}
