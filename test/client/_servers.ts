import type { CommandEntry, SharedClientOptions } from 'caduceus/client'
import { rawServer } from './_raw.js'

/** The entry of a raw server, as a host has it in its configuration. */
export function rawEntry(args: readonly string[] = [], rest: object = {}): CommandEntry {
  return { command: process.execPath, args: [rawServer, ...args], ...rest }
}

/** Short waits, so that a test need not. */
export const hasty: SharedClientOptions = { backoff: { base: 1, cap: 1 } }

/** Whether a process runs. */
export function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
