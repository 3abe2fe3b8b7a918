import { outside } from './containment.js'
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

/** Writes the reports of one tree to a logger until the returned function is called. */
export function logReports({ logger, tree }: LogOptions & { tree: number }): () => void {
  if (logger === false) return () => {}
  const write = logger === undefined ? pinoOnDemand() : (level: Level, facts: object, message: string) => logger[level](facts, message)
  const of = <Name extends keyof RuntimeEvents>(name: Name, fn: (event: RuntimeEvents[Name]) => void): (() => void) =>
    subscribe(name, (event) => {
      if (event.tree === tree) fn(event)
    })
  const undo = [
    of('crash', ({ reason, ...facts }) => write('error', { ...facts, ...errorFacts(reason) }, `${facts.name} crashed`)),
    of('supervisor', ({ reason, ...facts }) => {
      const why = typeof reason === 'string' ? reason : formatReason(reason)
      write('warn', { ...facts, reason: why }, `${facts.child.id}: ${facts.context.replace('_', ' ')}`)
    }),
    of('stray', ({ error, ...facts }) => write('error', { ...facts, err: error }, 'stray error')),
    of('notice', (facts) => write('warn', facts, facts.notice.replace('_', ' '))),
  ]
  return () => {
    for (const each of undo) each()
  }
}

function errorFacts(reason: ExitReason): object {
  return reason.type === 'crash' ? { err: reason.error } : { reason: reason.type }
}

/** Loads pino at the first line; lines that come while it loads wait for it. */
function pinoOnDemand(): (level: Level, facts: object, message: string) => void {
  let loading: Promise<Logger> | undefined
  return (level, facts, message) => {
    loading ??= outside(loadPino)
    void loading.then((logger) => logger[level](facts, message))
  }
}

async function loadPino(): Promise<Logger> {
  const { pino } = await import('pino')
  return pino({ name: 'caduceus', base: null }, pino.destination({ fd: 2, sync: true })) as Logger
}
