import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installLocked } from '../house/install-locked.mjs'

const own = dirname(fileURLToPath(import.meta.url))

/** Installs what the trials need, from a lock file of their own, and returns the paths of its programs. Throws. */
export function install() {
  installLocked(own, () => ['mcp-proxy', 'mcporter', '@modelcontextprotocol/inspector'])
  const path = (...parts) => join(own, 'node_modules', ...parts)
  return {
    proxy: path('mcp-proxy', 'dist', 'bin', 'mcp-proxy.mjs'),
    inspector: path('@modelcontextprotocol', 'inspector', 'clients', 'launcher', 'build', 'index.js'),
    mcporter: path('mcporter', 'dist', 'cli.js'),
  }
}
