import { type FSWatcher, watch } from 'node:fs'
import type { World } from '../runtime/time/world.js'

/** Ms without a change until a change counts: an editor writes a file in several steps. */
const quiet = 100

/** Folders that are watched at most. */
const maxFolders = 1_000

/**
 * Calls `fn` after changes of what lies directly in these folders, as far as `fits` says; until the returned
 * function is called. The folders, not the files, as editors replace files.
 */
export function watchFolders(
  folders: readonly string[],
  fits: (name: string) => boolean,
  fn: () => void,
  world: World,
): () => void {
  let timer: unknown
  const changed = (_event: string, name: string | null): void => {
    if (name !== null && !fits(name)) return
    world.clearTimeout(timer)
    timer = world.setTimeout(fn, quiet)
  }
  const watchers: FSWatcher[] = folders
    .slice(0, maxFolders)
    .map((folder) => watch(folder, { persistent: false }, changed).on('error', () => {}))
  return () => {
    world.clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
  }
}
