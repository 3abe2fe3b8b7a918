// Which files make up the project, read from the folder itself.
import { readdirSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The repository these scripts belong to. */
export const repository = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** The folders of the library, lowest floor first. */
export const floors = ['runtime', 'protocol', 'transports', 'server', 'client', 'command']

/** The floors that programs can import; the command is run, and imports the doors. */
export const floorsWithDoors = floors.filter((floor) => floor !== 'command')

/**
 * The files at the top: the doors of everyday names, of tests, of OpenTelemetry, of APIs, and for hosts with
 * fetch alone.
 */
export const topFiles = ['index.ts', 'testing.ts', 'otel.ts', 'openapi.ts', 'fetch.ts']

/** Every place where TypeScript of the project lives, besides the files at the top. */
export const sourceFolders = [...floors, 'test', 'scripts']

const skipped = new Set(['node_modules', 'dist', '.t', '.git', 'coverage', 'site'])

/** Lists the files below `folder` of `root` as sorted paths with `/`; a missing folder has none. */
export function listFiles(root, folder = '.') {
  const found = []
  const walk = (relative) => {
    for (const entry of readFolder(join(root, relative))) {
      if (skipped.has(entry.name)) continue
      const path = relative === '.' ? entry.name : `${relative}/${entry.name}`
      if (entry.isDirectory()) walk(path)
      else if (entry.isFile()) found.push(path)
    }
  }
  walk(folder.split(sep).join('/'))
  return found.sort()
}

/** Whether this path is part of the library itself: a file at the top, or on a floor. */
export function isLibrary(path) {
  return topFiles.includes(path) || floors.includes(path.split('/')[0])
}

/** Lists the files at the top and every file of the given folders that a run needs. */
export function listSources(root, folders = sourceFolders) {
  const top = listFiles(root, '.').filter((path) => topFiles.includes(path))
  return [...top, ...folders.flatMap((folder) => listFiles(root, folder))]
}

function readFolder(path) {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw error
  }
}
