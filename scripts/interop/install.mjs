import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installLocked } from '../house/install-locked.mjs'

const own = dirname(fileURLToPath(import.meta.url))

/** Installs what the trials need, from a lock file of their own, and returns the path of mcp-proxy's program. Throws. */
export function install() {
  installLocked(own, () => ['mcp-proxy'])
  return join(own, 'node_modules', 'mcp-proxy', 'dist', 'bin', 'mcp-proxy.mjs')
}
