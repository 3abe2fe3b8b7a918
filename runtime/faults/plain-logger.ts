import { writeSync } from 'node:fs'
import { inspect } from 'node:util'
import type { Logger } from './log.js'

/**
 * Writes lines like pino's to standard error where pino cannot be had: no file can be opened, or a bundle
 * left it without what it needs.
 */
export const plainLogger: Logger = {
  debug: (facts, message) => write(20, facts, message),
  info: (facts, message) => write(30, facts, message),
  warn: (facts, message) => write(40, facts, message),
  error: (facts, message) => write(50, facts, message),
}

function write(level: number, facts: object, msg: string): void {
  const start = { level, time: Date.now(), name: 'caduceus' }
  const line = encode({ ...start, ...facts, msg }) ?? encode({ ...start, facts: inspect(facts), msg })
  const bytes = Buffer.from(`${line}\n`)
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(2, bytes, at)
  } catch {
    // whoever closed our standard error does not want to read there
  }
}

/** Undefined for what is no JSON: facts may have anything in them that was thrown. */
function encode(line: object): string | undefined {
  try {
    return JSON.stringify(line, (_, value: unknown) => {
      if (typeof value === 'bigint') return String(value)
      return value instanceof Error ? shown(value) : value
    })
  } catch {
    return undefined
  }
}

function shown({ name, message, stack, cause, ...facts }: Error): object {
  return { type: name, message, stack, ...(cause === undefined ? {} : { cause }), ...facts }
}
