import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))

/** The folder of the repository, wherever the running file was transpiled to. */
export const root = here.slice(0, here.lastIndexOf(`${sep}.t${sep}`))

/** The path of a file of the repository. */
export function inRoot(...parts: string[]): string {
  return join(root, ...parts)
}
