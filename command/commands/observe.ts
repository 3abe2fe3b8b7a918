import { emitKeypressEvents } from 'node:readline'
import {
  type Changes,
  lookAt,
  type ObservedProgram,
  observedPrograms,
  type Picture,
  type Sight,
} from 'caduceus/transports'
import { among } from '../../runtime/base/near.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import { Unreachable } from '../base/failure.js'
import type { Invocation } from '../base/invocation.js'
import { printAs } from '../terminal/output.js'
import { readTimeout } from '../connection/connect.js'
import { linesOf, Scene, screenOf } from '../terminal/scene.js'
import { unsteered } from '../../runtime/base/steering.js'
import { tell } from '../terminal/screen.js'
import { exitCodes, UsageError } from '../base/usage-error.js'

/** Milliseconds that a program has for its first picture: one that is busy may take a while. */
const usualPatience = 10_000

/** A program that is looked at, and how long its first picture may take. */
interface Found extends ObservedProgram {
  readonly patience: number
  readonly world: World
}

/** Shows the process trees of a program of this machine as they change; once, where nobody sees it. */
export async function run(invocation: Invocation, world: World = systemWorld): Promise<number> {
  const [wanted, extra] = invocation.positionals
  if (extra !== undefined) throw new UsageError('observe: expected one program')
  const patience = invocation.values.timeout === undefined ? usualPatience : readTimeout(invocation)
  const found = { ...(await findProgram(wanted)), patience, world }
  const isLive = process.stdout.isTTY === true && invocation.values.json !== true
  if (isLive) return await show(found)
  const picture = await firstPicture(found)
  printAs(invocation, picture, () =>
    linesOf(new Scene(picture))
      .map(({ text }) => unsteered(text))
      .join('\n'),
  )
  return exitCodes.ok
}

/** The program that is meant, by its name or number. Rejects with UsageError, with those that there are. */
async function findProgram(wanted: string | undefined): Promise<ObservedProgram> {
  const all = await observedPrograms()
  const fits = all.filter(
    ({ name, pid }) => wanted === undefined || wanted === name || wanted === String(pid),
  )
  const [only, another] = fits
  if (only !== undefined && another === undefined) return only
  const names = all.map(({ name, pid }) => `${name} (${pid})`)
  if (names.length === 0)
    throw new Unreachable(
      'no program of yours can be looked at: one is while it runs observe(), or caduceus serve',
    )
  if (only === undefined)
    throw new UsageError(`observe: expected ${among('a program', names, wanted ?? '')}, got ${wanted}`)
  throw new UsageError(`observe: which one? ${names.join(', ')}`)
}

/**
 * Looks at it until its end, or until `ended` is aborted. Rejects with Unreachable where no first picture comes:
 * the socket of one that is frozen takes connections.
 */
async function look({ name, pid, path, patience, world }: Found, sight: Sight, ended: AbortController) {
  let isLate = false
  const timer = world.setTimeout(() => {
    isLate = true
    ended.abort()
  }, patience)
  const picture = (first: Picture): void => {
    world.clearTimeout(timer)
    sight.picture(first)
  }
  await lookAt(path, { ...sight, picture }, ended.signal).finally(() => world.clearTimeout(timer))
  if (isLate)
    throw new Unreachable(`${name} (${pid}) has not answered within ${patience} ms: it is frozen, or busy`)
}

async function firstPicture(found: Found): Promise<Picture> {
  const enough = new AbortController()
  const seen: Picture[] = []
  const picture = (each: Picture): void => {
    seen.push(each)
    enough.abort()
  }
  await look(found, { picture, changes() {} }, enough)
  if (seen[0] === undefined) throw new Unreachable('the program has ended')
  return seen[0]
}

/** Draws at every change, until `q`, Ctrl-C, or the end of the program. */
async function show(found: Found): Promise<number> {
  const { world } = found
  const { stdin, stdout } = process
  const ended = new AbortController()
  const view: { scene: Scene | undefined; top: number } = { scene: undefined, top: 0 }
  const draw = (): void => {
    if (view.scene === undefined) return
    const { lines, top } = screenOf(view.scene, {
      columns: stdout.columns || 80,
      rows: stdout.rows || 24,
      top: view.top,
      now: world.date(),
    })
    view.top = top
    stdout.write(`\x1b[H${lines.map((line) => `${line}\x1b[0m\x1b[K`).join('\n')}\x1b[J`)
  }
  const pressed = (_text: string, key: { name?: string; ctrl?: boolean }): void => {
    if (key.name === 'q' || (key.ctrl === true && key.name === 'c')) return ended.abort()
    view.top = Math.max(
      0,
      view.top + (steps[key.name ?? ''] ?? 0) * (key.name?.startsWith('page') ? stdout.rows - 12 : 1),
    )
    draw()
  }
  const stop = (): void => ended.abort()
  stdout.write('\x1b[?1049h\x1b[?25l')
  stdout.on('resize', draw)
  process.once('SIGINT', stop).once('SIGTERM', stop)
  if (stdin.isTTY) {
    emitKeypressEvents(stdin)
    stdin.setRawMode(true).on('keypress', pressed)
  }
  try {
    const sight = {
      picture(picture: Picture): void {
        view.scene = new Scene(picture)
        draw()
      },
      changes(changes: Changes): void {
        view.scene?.change(changes, world.date())
        draw()
      },
    }
    await look(found, sight, ended)
  } finally {
    stdout.off('resize', draw)
    process.off('SIGINT', stop).off('SIGTERM', stop)
    if (stdin.isTTY) stdin.off('keypress', pressed).setRawMode(false).pause()
    stdout.write('\x1b[?25h\x1b[?1049l')
  }
  if (!ended.signal.aborted) tell('the program has ended')
  return exitCodes.ok
}

const steps: Readonly<Record<string, number>> = {
  up: -1,
  down: 1,
  pageup: -1,
  pagedown: 1,
  home: Number.NEGATIVE_INFINITY,
  end: 1_000_000,
}
