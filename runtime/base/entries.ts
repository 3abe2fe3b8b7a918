import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * The file that runs first in a thread or process of ours, as a path in the sources, wherever they were built
 * to. In the bundle of a program there is none: the URL is then of a file that is not there. So it is on a
 * platform whose modules have no URL.
 */
export function entryOf(path: string, here: string = import.meta.url ?? 'file:///'): URL {
  const source = /runtime\/base\/entries\.js$/
  // the package's own bundles stand in dist/, in chunks and folders of their own
  const root = source.test(here) ? here.replace(source, '') : here.replace(/^(.*\/dist\/).*$/, '$1')
  return new URL(path, root)
}

/** The URL of a module: as one, as its text, or as an absolute path. Undefined for anything else. */
export function moduleUrl(module: unknown): URL | undefined {
  if (module instanceof URL) return module
  if (typeof module !== 'string') return undefined
  if (isAbsolute(module)) return pathToFileURL(module)
  return URL.canParse(module) ? new URL(module) : undefined
}
