import { closeSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../time/clock.js'
import { pause } from '../time/wait.js'
import { outside } from './containment.js'

/** Loads a module on demand, as `import()` would in the file that asks. */
type Importing<Module> = () => Promise<Module>

/** Loads its module, or answers the one that is loaded. */
export interface Lazy<Module> extends Importing<Module> {
  /** Undefined until it is loaded. */
  loaded(): Module | undefined
}

/**
 * A module that is loaded, in no scope, when it is first needed. A failed load, as without free file
 * descriptors, is tried again by the next caller. Node keeps a failed `import()` for ever, so the module is
 * required, by its name as seen from this file.
 */
export function lazy<Module extends object>(name: string, importing: Importing<Module>): Lazy<Module> {
  let loaded: Module | undefined
  const load = async (): Promise<Module> => {
    loaded ??= await outside(() => requireOr(name, importing))
    return loaded
  }
  return Object.assign(load, { loaded: () => loaded })
}

/** Milliseconds between two attempts to load. */
const retryTime = 250

/**
 * Waits out errors of the system, such as no free file descriptors. A missing or broken module throws at
 * once; so does the same error twice, which Node has cached (in a bundle that imports).
 */
export async function retryLoad<Module>(
  load: Importing<Module>,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Module> {
  let before: unknown
  while (true) {
    try {
      return await load()
    } catch (error) {
      if (signal.aborted || !isOfSystem(error) || error === before) throw error
      before = error
      await pause(retryTime, clock)
    }
  }
}

const here = import.meta.url

/** In a program's own bundle package names may not resolve; only our files require, and else import. */
const isOurs = /\/runtime\/faults\/load\.js$|\/node_modules\/caduceus\/dist\/.*\.js$/.test(here ?? '')
const isBundle = /\/dist\/.*\.js$/.test(here ?? '')
const require = isOurs ? createRequire(here) : undefined

function requireOr<Module extends object>(
  name: string,
  importing: Importing<Module>,
): Module | Promise<Module> {
  if (require === undefined) return importing()
  needDescriptors()
  // beside the bundles are sources, for maps, which Bun would load in place of the bundle
  if (isBundle && name.startsWith('.')) return importing()
  try {
    return require(name) as Module
  } catch (error) {
    if (isOfSystem(error)) throw error
    return importing() // it may be on its way already, or this Node requires no ES modules
  }
}

/** Node 20 takes a `package.json` that it cannot open for a missing one, and caches that. */
function needDescriptors(): void {
  const path = fileURLToPath(here)
  const open: number[] = []
  try {
    for (let i = 0; i < 8; i++) open.push(openSync(path, 'r'))
  } catch (error) {
    if (isShortage(error)) throw error // anything else, such as no permission, need not concern Node
  } finally {
    for (const descriptor of open) closeSync(descriptor)
  }
}

function isShortage(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'EMFILE' || code === 'ENFILE'
}

function isOfSystem(error: unknown): boolean {
  const { syscall, code } = (error ?? {}) as NodeJS.ErrnoException
  return syscall !== undefined || code === 'ERR_INVALID_PACKAGE_CONFIG'
}
