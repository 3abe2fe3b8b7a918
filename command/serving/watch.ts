import { type FSWatcher, readdirSync, readlinkSync, realpathSync, watch } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import type { World } from '../../runtime/time/world.js'

/** Ms without a change until a change counts: an editor writes a file in several steps. */
const quiet = 100
/** Ms after which they are taken as they are: somebody may write for ever. */
const longest = 1_000

/** Folders that are watched at most. */
const maxFolders = 1_000

/**
 * Calls `fn` after changes of what lies directly in these folders, as far as `fits` says; until the returned
 * function is called. The folders, not the files, as editors replace files. `folders` is asked again after
 * changes.
 */
export function watchFolders(
  folders: () => readonly string[],
  fits: (name: string) => boolean,
  fn: () => void,
  world: World,
): () => void {
  let timer: unknown
  let began = 0
  let isDue = false
  const watchers = new Map<string, FSWatcher>()
  const changed = (_event: string, name: string | null): void => {
    const isOurs = name === null || fits(name)
    isDue ||= isOurs
    if (timer === undefined) began = world.now()
    // others may write beside it without a pause
    else if (!isOurs || world.now() - began >= longest) return
    world.clearTimeout(timer)
    timer = world.setTimeout(settle, quiet)
  }
  const settle = (): void => {
    timer = undefined
    const come = follow()
    // files of a new folder may be older than its watcher
    if (isDue || come.some((folder) => namesIn(folder).some(fits))) fn()
    isDue = false
  }
  /** Watches the folders that there are now; returns those that are new. */
  const follow = (): string[] => {
    const now = new Set(folders().slice(0, maxFolders))
    for (const [folder, watcher] of watchers)
      if (!now.has(folder)) {
        watcher.close()
        watchers.delete(folder)
      }
    const come = [...now].filter((folder) => !watchers.has(folder))
    for (const folder of come) {
      try {
        watchers.set(
          folder,
          watch(folder, { persistent: false }, changed).on('error', () => {}),
        )
      } catch {
        // gone already
      }
    }
    return come
  }
  follow()
  return () => {
    world.clearTimeout(timer)
    for (const watcher of watchers.values()) watcher.close()
  }
}

/**
 * A file and all that its path leads through by links, as each may be replaced: by a manager of such files, or
 * where a folder of them is changed as a whole.
 */
export function linksTo(file: string): readonly string[] {
  const places = new Set([file])
  for (const place of places) {
    const target = places.size < maxFolders ? targetOf(place) : undefined
    if (target === undefined) continue
    let path = dirname(place)
    if (isAbsolute(target)) places.add(target)
    else
      for (const step of target.split('/')) {
        path = join(path, step)
        places.add(path)
      }
  }
  return [...places]
}

/** The folders of those places, as they are now: a link that is replaced leads to another one. */
export function foldersTo(file: string): readonly string[] {
  return [...new Set(linksTo(file).map((place) => realOf(dirname(place))))]
}

function realOf(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    // not there
    return folder
  }
}

function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    // no link, or not there
    return undefined
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
