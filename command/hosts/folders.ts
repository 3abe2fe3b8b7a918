import { join } from 'node:path'
import type { Surroundings } from './host-files.js'

/** Where the program keeps logins and the history of its shell (XDG, and what other platforms have instead). */
export function dataFolder({ platform, env, home }: Omit<Surroundings, 'folder'>): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'caduceus')
  if (platform === 'win32') return join(env.LOCALAPPDATA ?? join(home, 'AppData', 'Local'), 'caduceus')
  return join(env.XDG_DATA_HOME ?? join(home, '.local', 'share'), 'caduceus')
}

/** Where the program keeps what may be deleted at any time. */
export function cacheFolder({ platform, env, home }: Omit<Surroundings, 'folder'>): string {
  if (platform === 'darwin') return join(home, 'Library', 'Caches', 'caduceus')
  if (platform === 'win32')
    return join(env.LOCALAPPDATA ?? join(home, 'AppData', 'Local'), 'caduceus', 'cache')
  return join(env.XDG_CACHE_HOME ?? join(home, '.cache'), 'caduceus')
}
