import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { isObject } from '../../protocol/wire/json.js'
import { writeWhole } from '../base/write-file.js'
import { type Surroundings, textOf } from './host-files.js'

/** What is known of a tool for the completion of a shell. */
interface KeptTool {
  readonly name: string
  readonly properties: readonly string[]
}

/** Servers whose lists are kept, and how large each may be. */
const mostLists = 200
const mostBytes = 1_048_576

/** Keeps the tools of a server for later; where nothing can be written, nothing is kept. */
export async function keepTools(
  folder: string,
  key: string,
  tools: readonly {
    readonly name: string
    readonly inputSchema: { readonly properties?: object | undefined }
  }[],
): Promise<void> {
  const kept: KeptTool[] = tools.map(({ name, inputSchema }) => ({
    name,
    properties: Object.keys(inputSchema.properties ?? {}),
  }))
  // no home: the folder of the project is no place for it
  if (!isAbsolute(folder)) return
  try {
    const lists = join(folder, 'lists')
    mkdirSync(lists, { recursive: true, mode: 0o700 })
    forget(lists)
    const text = JSON.stringify(kept)
    if (text.length <= mostBytes) await writeWhole(fileOf(folder, key), text, { force: true, mode: 0o600 })
  } catch {
    // a completion is no reason for a call to fail
  }
}

/** The tools that a server had when it was used last. */
export function keptTools(folder: string, key: string): readonly KeptTool[] {
  if (!isAbsolute(folder)) return []
  try {
    const kept: unknown = JSON.parse(textOf(fileOf(folder, key), mostBytes))
    return Array.isArray(kept) ? kept.filter(isKept) : []
  } catch {
    return [] // nothing is kept yet
  }
}

function isKept(value: unknown): value is KeptTool {
  return (
    isObject(value) &&
    typeof value.name === 'string' &&
    Array.isArray(value.properties) &&
    value.properties.every((one) => typeof one === 'string')
  )
}

/**
 * What a target is kept under: a name means a server of a file, or of those that are found from a folder; an
 * address means the same everywhere.
 */
export function keyOf(
  target: string,
  file: string | undefined,
  { folder }: Pick<Surroundings, 'folder'>,
): string {
  if (/^[a-z]+:\/\//i.test(target)) return target
  return JSON.stringify([target, file === undefined ? null : resolve(folder, file), folder])
}

function fileOf(folder: string, key: string): string {
  return join(folder, 'lists', `${createHash('sha256').update(key).digest('hex')}.json`)
}

/** The oldest of too many. */
function forget(lists: string): void {
  const files = readdirSync(lists).map((name) => join(lists, name))
  if (files.length < mostLists) return
  const byAge = files.map((file) => ({ file, at: statSync(file).mtimeMs })).sort((a, b) => a.at - b.at)
  for (const { file } of byAge.slice(0, files.length - mostLists + 1)) rmSync(file, { force: true })
}
