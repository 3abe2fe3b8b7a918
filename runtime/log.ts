import { outside } from './containment.js'
import { messageOf, RuntimeError, show } from './errors.js'
import { type RuntimeEvents, subscribe } from './events.js'
import { type ExitReason, formatReason } from './exit.js'

/** A logger as pino has it: facts first, a short sentence last. */
export interface Logger {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/** Where reports of a tree are written. */
export interface LogOptions {
  /** Your own logger, or false for none. Default: pino on standard error, loaded when there is something to write. */
  logger?: Logger | false | undefined
}

type Level = 'debug' | 'info' | 'warn' | 'error'
type Write = (level: Level, facts: object, message: string) => void

/** Writes the reports of one tree to a logger until the returned function is called. Throws BAD_OPTION. */
export function logReports({ logger, tree }: LogOptions & { tree: number }): () => void {
  if (logger === false) return () => {}
  const write = logger === undefined ? pinoOnDemand() : writeTo(logger)
  const of = <Name extends keyof RuntimeEvents>(
    name: Name,
    fn: (event: RuntimeEvents[Name]) => void,
  ): (() => void) =>
    subscribe(name, (event) => {
      if (event.tree === tree) fn(event)
    })
  const undo = [
    // In pino's lines `name` is the logger's.
    of('crash', ({ reason, name, ...facts }) =>
      write('error', { actor: name, ...facts, ...errorFacts(reason) }, `${name} crashed`),
    ),
    of('supervisor', ({ reason, ...facts }) => {
      const why = typeof reason === 'string' ? reason : formatReason(reason)
      write('warn', { ...facts, reason: why }, `${facts.child.id}: ${facts.context.replace('_', ' ')}`)
    }),
    of('stray', ({ error, ...facts }) => write('error', { ...facts, err: error }, 'stray error')),
    of('notice', ({ name, ...facts }) =>
      write('warn', { actor: name, ...facts }, `${name}: ${facts.notice.replace('_', ' ')}`),
    ),
  ]
  // Pino is not loaded, and nothing is formatted, for what its default level would drop.
  if (logger !== undefined) {
    undo.push(
      of('progress', (facts) =>
        write('debug', facts, `${facts.child.id}: ${facts.restarted ? 'restarted' : 'started'}`),
      ),
    )
  }
  return () => {
    for (const each of undo) each()
  }
}

function writeTo(logger: Logger): Write {
  const levels: Level[] = ['debug', 'info', 'warn', 'error']
  const missing = levels.find((level) => typeof (logger as Partial<Logger> | null)?.[level] !== 'function')
  if (missing === undefined) return (level, facts, message) => logger[level](facts, message)
  throw new RuntimeError(
    'BAD_OPTION',
    `logger: expected false or an object with ${levels.join(', ')}, got ${show(logger)} without ${missing}`,
  )
}

function errorFacts(reason: ExitReason): object {
  return reason.type === 'crash' ? { err: reason.error } : { reason: reason.type }
}

/** Loads pino at the first line; lines that come while it loads wait for it. */
function pinoOnDemand(): Write {
  let loading: Promise<Logger | undefined> | undefined
  return (level, facts, message) => {
    loading ??= outside(loadPino).catch(cannotLog)
    void loading.then((logger) => logger?.[level](facts, message))
  }
}

/** No report of it: that would be the next line that cannot be written. */
function cannotLog(error: unknown): undefined {
  process.emitWarning(`reports are lost: ${messageOf(error)}`, { code: 'CADUCEUS_LOG' })
}

async function loadPino(): Promise<Logger> {
  const { pino } = await import('pino')
  const stderr = pino.destination({ fd: 2, sync: true })
  // Whoever closed our standard error does not want to read there; nobody else is to suffer for it.
  stderr.on('error', () => {})
  return pino({ base: { name: 'caduceus' } }, stderr) as Logger
}
