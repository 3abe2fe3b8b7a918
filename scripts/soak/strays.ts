import { subscribeClient } from '../../client/base/events.js'
import { subscribe } from '../../runtime/faults/events.js'
import type { Violations } from './violations.js'

/** Counts what nobody caught: stray errors, crashes (what is killed does not crash), warnings of Node. */
export function watchStrays(violations: Violations): { stop(): void } {
  const text = (error: unknown): string =>
    error instanceof Error ? (error.stack ?? error.message).split('\n').slice(0, 4).join(' ') : String(error)
  const onThrow = (error: unknown): void => violations.add('uncaught exception', text(error))
  const onRejection = (error: unknown): void => violations.add('unhandled rejection', text(error))
  const onWarning = ({ name, message }: Error): void => violations.add('warning', `${name}: ${message}`)
  process.on('uncaughtException', onThrow)
  process.on('unhandledRejection', onRejection)
  process.on('warning', onWarning)
  const undo = [
    subscribeClient('warning', ({ client, type, reason }) => {
      // servers that are away are what it is about
      if (type !== 'connect_failed' && type !== 'waiting') violations.add(type, `${client}: ${reason}`)
    }),
    subscribe('stray', ({ owner, error }) => violations.add('stray', `${owner ?? 'nobody'}: ${text(error)}`)),
    subscribe('crash', ({ name, during, reason }) => {
      const cause = 'error' in reason ? text(reason.error) : reason.type
      violations.add('crash', `${name} during ${during}: ${cause}`)
    }),
  ]
  return {
    stop() {
      for (const each of undo) each()
      process.off('uncaughtException', onThrow)
      process.off('unhandledRejection', onRejection)
      process.off('warning', onWarning)
    },
  }
}
