import { createHash } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionRecord, SessionStore } from 'caduceus/server'

/** Sessions of several programs at once: a file of JSON each, in a folder that exists. */
export function commonRecords(folder: string): SessionStore {
  const pathOf = (id: string): string => join(folder, createHash('sha256').update(id).digest('hex'))
  const load = (id: string): SessionRecord | undefined => {
    try {
      return JSON.parse(readFileSync(pathOf(id), 'utf8')) as SessionRecord
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }
  return {
    shared: true,
    load,
    save(record) {
      const { id, version } = record
      if ((load(id)?.version ?? 0) > version) return
      const aside = `${pathOf(id)}.${process.pid}`
      writeFileSync(aside, JSON.stringify(record))
      renameSync(aside, pathOf(id))
    },
    delete: (id) => rmSync(pathOf(id), { force: true }),
  }
}
