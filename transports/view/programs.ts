import { mkdirSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { strangersIn } from '../../runtime/base/files.js'
import { messageOf } from '../../runtime/base/errors.js'
import { handled } from '../../runtime/base/promise.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../base/errors.js'
import { isObserved } from './look.js'

/** A program of this user that may be looked at. */
export interface ObservedProgram {
  readonly name: string
  readonly pid: number
  /** Its local socket. */
  readonly path: string
}

const longestName = 30

/** Where a program listens: in a folder of its user, with its name and its number. */
export function socketPath(name: string, world: World): string {
  const plain = name.replaceAll(/[^\w-]+/g, '-').slice(0, longestName) || 'node'
  const chance = world.id().replaceAll(/\W/g, '').slice(0, 4)
  return join(folder(), `${plain}.${process.pid}.${chance}.sock`)
}

/**
 * The programs of this user that may be looked at now, in the order of their names. Rejects with
 * TransportError LISTEN_FAILED where others may write to their folder.
 */
export function observedPrograms(): Promise<readonly ObservedProgram[]> {
  return handled(findPrograms())
}

function filesOf(): readonly ObservedProgram[] {
  let names: string[] = []
  try {
    checkFolder()
    names = readdirSync(folder())
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return names.sort().flatMap((file) => {
    const [, name, pid] = /^([\w-]+)\.(\d+)\.\w+\.sock$/.exec(file) ?? []
    return name === undefined ? [] : [{ name, pid: Number(pid), path: join(folder(), file) }]
  })
}

async function findPrograms(): Promise<readonly ObservedProgram[]> {
  const all = filesOf()
  const answers = await Promise.all(all.map(({ path }) => isObserved(path)))
  return all.filter((_program, i) => answers[i])
}

/** Makes the folder if there is none. Throws LISTEN_FAILED if it is not of this user alone. */
export function prepareFolder(): void {
  try {
    mkdirSync(folder(), { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw new TransportError('LISTEN_FAILED', `${folder()} cannot be made: ${messageOf(cause)}`, { cause })
  }
  checkFolder()
}

/** Throws ENOENT, too. */
function checkFolder(): void {
  const problem = strangersIn(folder())
  if (problem !== undefined) throw new TransportError('LISTEN_FAILED', `${folder()} ${problem}: remove it`)
}

function folder(): string {
  const runtime = process.env.XDG_RUNTIME_DIR
  return runtime ? join(runtime, 'caduceus') : join(tmpdir(), `caduceus-${process.getuid?.() ?? -1}`)
}
