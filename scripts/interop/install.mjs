// What the trials need, from a lock file of its own; no install script of it is run.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const own = dirname(fileURLToPath(import.meta.url))
const proxy = join(own, 'node_modules', 'mcp-proxy')

/** Installs what is not there in the locked version and returns the path of mcp-proxy's program. Throws. */
export function install() {
  const { packages } = JSON.parse(readFileSync(join(own, 'package-lock.json'), 'utf8'))
  const wanted = packages['node_modules/mcp-proxy'].version
  if (installedVersion() !== wanted) installAll()
  if (installedVersion() !== wanted) throw new Error(`npm ci in ${own} did not install mcp-proxy ${wanted}`)
  return join(proxy, 'dist', 'bin', 'mcp-proxy.mjs')
}

function installedVersion() {
  try {
    return JSON.parse(readFileSync(join(proxy, 'package.json'), 'utf8')).version
  } catch {
    return undefined
  }
}

function installAll() {
  const windows = process.platform === 'win32'
  const options = ['ci', '--ignore-scripts', '--no-audit', '--no-fund']
  const { status, error } = spawnSync(windows ? 'npm.cmd' : 'npm', options, {
    cwd: own,
    shell: windows,
    stdio: 'inherit',
    timeout: 300_000,
  })
  if (status !== 0) throw new Error(`npm ci in ${own} failed`, { cause: error })
}
