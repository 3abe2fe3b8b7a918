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
