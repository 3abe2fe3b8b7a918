import { isatty } from 'node:tty'
import { inspect } from 'node:util'
import { show, optionError } from '../base/errors.js'
import { blockedText } from './blocked-text.js'
import { onChannel, type RuntimeEvents, subscribe } from './events.js'
import { type ExitReason, formatReason } from '../base/exit.js'
import { steadyJson } from '../base/steering.js'
import { lineOf } from './lines.js'
import { lazy } from './load.js'
import { standardError } from './standard-error.js'
import type { World } from '../time/world.js'
import { throttle } from '../base/throttle.js'
import { badOption } from '../base/check.js'

/** A logger as pino has it: first facts, then a short sentence. */
export interface Logger {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/** Where lines are written, and from which level on. */
export interface LogOptions {
  /**
   * Your own logger, or false for none. `json` is pino on standard error, loaded with the first line; `text` is
   * lines for people there. Default: `text` where standard error is a terminal, else `json`.
   */
  logger?: Logger | 'text' | 'json' | false | undefined
  /**
   * From which level on each category is written. `crash` and `stray` are errors, `supervisor`, `notice`,
   * `blocked` and `client.warning` warnings, `progress` is for debugging. `client.log`, what the servers of
   * clients log, has levels of its own. Default: `debug` for a logger of your own, otherwise `info`. Other
   * events of the floors above are written only with a level here, by their names: `server.session`,
   * `server.request`, `server.notification`, `transport.listener`, `transport.connection`,
   * `transport.stream`, `client.state`, `client.request`; with `info` only errors and refusals, with `debug`
   * everything. Each line has its `category`.
   */
  logLevels?: LogLevels | undefined
}

/** A level per category; `silent` writes nothing. */
export type LogLevels = { readonly [Category in LogCategory]?: LogLevel }
/** What lines are about: an event of the runtime, or one of a floor above, such as `client.warning`. */
export type LogCategory = keyof RuntimeEvents | `${string}.${string}`
/** The lowest level that is written. */
export type LogLevel = Level | 'silent'

type Level = 'debug' | 'info' | 'warn' | 'error'
const ranks: { readonly [Each in LogLevel]: number } = { debug: 1, info: 2, warn: 3, error: 4, silent: 5 }
const runtimeLevels: { readonly [Name in keyof RuntimeEvents]: Level } = {
  crash: 'error',
  supervisor: 'warn',
  stray: 'error',
  notice: 'warn',
  blocked: 'warn',
  progress: 'debug',
}
/** Categories of upper floors that are written unasked, with their highest level. */
const highest: { readonly [category: string]: Level } = {
  'client.warning': 'warn',
  'client.log': 'error',
  'server.node': 'warn',
  'server.gateway': 'warn',
  'server.notice': 'info',
  'transport.notice': 'warn',
}
type Write = (level: Level, facts: object, message: string) => void

/** Whether crashes are written with these options, which are checked already. */
export function writesCrashes({ logger, logLevels }: LogOptions): boolean {
  return logger !== false && logLevels?.crash !== 'silent'
}

/** Writes the reports of one tree to a logger until the returned function is called. Throws BAD_OPTION. */
export function logReports({
  logger,
  logLevels,
  tree,
  world,
}: LogOptions & { readonly tree: number; readonly world: World }): () => void {
  const levels = readLevels(logLevels)
  if (logger === false) return () => {}
  const style = styleOf(logger)
  const writeLine =
    style === 'text' ? textLines(world) : style === 'json' ? pinoOnDemand(world) : writeTo(style)
  // What is not written loads no pino and formats nothing.
  const usual = typeof style === 'string' ? 'info' : 'debug'
  const mayReport = throttle(world.now)
  const undo: (() => void)[] = []
  const of = <Name extends keyof RuntimeEvents>(
    category: Name,
    fn: (event: RuntimeEvents[Name], write: (facts: object, message: string) => void) => void,
  ): void => {
    const level = runtimeLevels[category]
    if (ranks[level] < ranks[levels[category] ?? usual]) return
    const write = (facts: object, message: string): void => writeLine(level, { category, ...facts }, message)
    undo.push(
      subscribe(category, (event) => {
        if (event.tree === tree) fn(event, write)
      }),
    )
  }
  // In pino's lines `name` is the logger's.
  of('crash', ({ reason, name, ...facts }, write) =>
    write({ actor: name, ...facts, ...errorFacts(reason) }, `${name} crashed`),
  )
  of('supervisor', ({ reason, ...facts }, write) => {
    const why = typeof reason === 'string' ? reason : formatReason(reason)
    write({ ...facts, reason: why }, `${facts.child.id}: ${facts.context.replace('_', ' ')}`)
  })
  of('stray', ({ error, ...facts }, write) => {
    // what ends the program is printed in any case
    if (facts.outcome === 'exited' && typeof style === 'string') return
    // strays that fail an owner end with it; others may come from a timer, without end
    const heldBack = facts.outcome === 'failed' ? 0 : mayReport()
    if (heldBack !== undefined)
      write({ ...facts, ...(heldBack > 0 && { heldBack }), err: error }, 'stray error')
  })
  of('notice', ({ name, ...facts }, write) =>
    write({ actor: name, ...facts }, `${name}: ${facts.notice.replace('_', ' ')}`),
  )
  of('blocked', ({ owner: name, ...facts }, write) => {
    const owner = name === undefined ? undefined : { name, ...facts }
    write({ owner: name, ...facts }, blockedText({ ...facts, owner }))
  })
  of('progress', (facts, write) =>
    write(facts, `${facts.child.id}: ${facts.restarted ? 'restarted' : 'started'}`),
  )
  // a person who read what died wants to read that it is back
  if (style === 'text' && levels.progress === undefined)
    undo.push(
      subscribe('progress', (facts) => {
        if (facts.tree === tree && facts.restarted) writeLine('info', { category: 'progress', ...facts }, '')
      }),
    )
  const unasked = Object.fromEntries(Object.keys(highest).map((category) => [category, usual] as const))
  for (const [category, level] of Object.entries({ ...unasked, ...levels }))
    if (!Object.hasOwn(runtimeLevels, category) && ranks[level] <= ranks[highest[category] ?? 'info'])
      undo.push(logChannel(category, { level, tree, write: writeLine }))
  return () => {
    for (const each of undo) each()
  }
}

/** Events of upper floors have the number of their tree, a type, and maybe a level. */
function logChannel(
  category: string,
  { level, tree, write }: { readonly level: LogLevel; readonly tree: number; readonly write: Write },
): () => void {
  return onChannel(`caduceus.${category}`, (event) => {
    const {
      tree: from,
      type,
      level: own,
      ...facts
    } = event as { tree?: unknown; type?: unknown; level?: Level }
    if (from !== tree) return
    const at = own ?? (type === 'error' || type === 'refused' ? 'info' : 'debug')
    if (ranks[at] >= ranks[level])
      write(at, { category, tree, type, ...shorten(facts) }, `${category} ${type}`)
  })
}

/** Texts that a client chose, such as a request id, may be of any length. */
function shorten(facts: object): object {
  return Object.fromEntries(
    Object.entries(facts).map(([key, value]) => [
      key,
      typeof value === 'string' ? value.slice(0, 500) : value,
    ]),
  )
}

function readLevels(given: unknown = {}): Readonly<Record<string, LogLevel>> {
  if (typeof given !== 'object' || given === null) throw badOption('logLevels', 'an object', given)
  for (const [category, level] of Object.entries(given)) {
    if (!Object.hasOwn(runtimeLevels, category) && !/^[a-z]+\.[a-z]+$/.test(category))
      throw badOption(
        'logLevels',
        `categories such as ${Object.keys(runtimeLevels).join(', ')}, server.request`,
        category,
      )
    if (typeof level !== 'string' || !Object.hasOwn(ranks, level))
      throw badOption(`logLevels.${category}`, `one of ${Object.keys(ranks).join(', ')}`, level)
  }
  return given as Readonly<Record<string, LogLevel>>
}

/** The logger, or what is written to standard error. */
export function styleOf(logger: LogOptions['logger']): Logger | 'text' | 'json' | false {
  if (logger !== undefined) return logger
  return isatty(2) ? 'text' : 'json'
}

function writeTo(logger: Logger | false): Write {
  const levels: Level[] = ['debug', 'info', 'warn', 'error']
  const methods = logger as Logger
  const missing = levels.find((level) => typeof (logger as Partial<Logger> | null)?.[level] !== 'function')
  if (missing === undefined) return (level, facts, message) => methods[level](facts, message)
  throw optionError(
    'logger',
    `logger: expected false, 'text', 'json' or an object with ${levels.join(', ')}, got ${show(logger)} without ${missing}`,
  )
}

function errorFacts(reason: ExitReason): object {
  return reason.type === 'crash' ? { err: reason.error } : { reason: reason.type }
}

/** One line a report; colours where they are wanted (`NO_COLOR`). */
function textLines({ date }: World): Write {
  const isColoured = isatty(2) && !process.env.NO_COLOR
  const colours: { readonly [Each in Level]: string } = { debug: '2', info: '32', warn: '33', error: '31' }
  return (level, facts, message) => {
    const line = lineOf(facts, message)
    if (line === undefined) return
    const time = new Date(date()).toTimeString().slice(0, 8)
    const mark = isColoured
      ? `\x1b[2m${time}\x1b[0m \x1b[${colours[level]}m${level}\x1b[0m`
      : `${time} ${level}`
    standardError.write(`${mark} ${shortened(line)}\n`)
  }
}

/** Loads pino with the first line. Where that fails, lines are plain and the next one tries again. */
function pinoOnDemand(world: World): Write {
  let loading: Promise<Logger> | undefined
  return (level, facts, message) => {
    loading ??= loadPino(world).catch(() => {
      loading = undefined
      return plainLogger(world)
    })
    void loading.then((logger) => logger[level](withBoundedTexts(facts), shortened(message)))
  }
}

const importPino = /* @__PURE__ */ lazy('pino', () => import('pino'))

async function loadPino({ date }: World): Promise<Logger> {
  const { pino } = await importPino()
  const told = toldAt(date)
  const stderr = { write: (line: string) => standardError.write(steadyJson(line), told) }
  const timestamp = (): string => `,"time":${date()}`
  const serializers = { err: (error: Error): object => boundedFacts(pino.stdSerializers.err(error)) }
  return pino({ base: { name: 'caduceus' }, level: 'debug', timestamp, serializers }, stderr) as Logger
}

/** Characters of each text of a line: whoever causes an error may choose its words. */
const maxText = 8_192

/** Both ends: the frames of a stack come after a message of any length. */
function shortened(text: string): string {
  if (text.length <= maxText) return text
  const half = maxText / 2
  const left = `... (${text.length - maxText} characters left out) ...`
  return `${text.slice(0, half)}${left}${text.slice(-half)}`
}

/** Errors among the facts have a serializer of their own. */
function withBoundedTexts(facts: object): object {
  const bounded = Object.entries(facts).map(([key, value]) => [
    key,
    typeof value === 'string' ? shortened(value) : value,
  ])
  return Object.fromEntries(bounded)
}

function boundedFacts(facts: object): object {
  const bounded = Object.entries(withBoundedTexts(facts)).map(([key, value]) => [
    key,
    typeof value === 'object' && value !== null ? boundedValue(value) : value,
  ])
  return Object.fromEntries(bounded)
}

/** What has no JSON text pino tells in its own way. */
function boundedValue(value: object): unknown {
  try {
    const text = JSON.stringify(value) ?? ''
    return text.length <= maxText ? value : shortened(text)
  } catch {
    return value
  }
}

/** Writes pino's format where pino cannot be loaded: no file descriptor is free, or a bundle lacks it. */
function plainLogger({ date }: World): Logger {
  const told = toldAt(date)
  const at = (level: number) => (facts: object, message: string) =>
    standardError.write(plainLine({ level, time: date(), name: 'caduceus' }, facts, message), told)
  return { debug: at(20), info: at(30), warn: at(40), error: at(50) }
}

function plainLine(start: object, facts: object, msg: string): string {
  const line = encode({ ...start, ...facts, msg }) ?? encode({ ...start, facts: inspect(facts), msg })
  return `${steadyJson(line ?? '')}\n`
}

/** Says how many lines are missing, as a line of the same format. */
function toldAt(date: () => number): (count: number) => string {
  const msg = 'lines are left out here, as standard error was not read'
  return (dropped) => plainLine({ level: 40, time: date(), name: 'caduceus' }, { dropped }, msg)
}

/** Undefined for what is no JSON: facts may hold anything that was thrown. */
function encode(line: object): string | undefined {
  try {
    return JSON.stringify(line, (_, value: unknown) => {
      if (typeof value === 'bigint') return String(value)
      if (typeof value === 'string') return shortened(value)
      return value instanceof Error ? shown(value) : value
    })
  } catch {
    return undefined
  }
}

function shown({ name, message, stack, cause, ...facts }: Error): object {
  return { type: name, message, stack, ...(cause === undefined ? {} : { cause }), ...facts }
}
