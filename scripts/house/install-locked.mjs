import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const windows = process.platform === 'win32'

/** Installs what `package-lock.json` of a folder has and is not there yet, without install scripts; `wanted` picks names from what is locked. Throws. */
export function installLocked(folder, wanted) {
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  const lockedVersion = (name) => packages[`node_modules/${name}`]?.version
  const needed = wanted(lockedVersion)
  const isThere = (name) => installedVersion(folder, name) === lockedVersion(name)
  if (needed.every(isThere)) return
  const options = ['ci', '--ignore-scripts', '--no-audit', '--no-fund']
  const { status, error } = spawnSync(windows ? 'npm.cmd' : 'npm', options, {
    cwd: folder,
    shell: windows,
    stdio: 'inherit',
    timeout: 300_000,
  })
  if (status !== 0) throw new Error(`npm ci in ${folder} failed`, { cause: error })
  const missing = needed.filter((name) => !isThere(name))
  if (missing.length > 0) throw new Error(`npm ci in ${folder} did not install ${missing.join(', ')}`)
}

function installedVersion(folder, name) {
  try {
    return JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version
  } catch {
    return undefined
  }
}
