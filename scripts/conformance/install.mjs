// What the runner needs, from a lock file of its own; nothing of it has an install script.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const own = dirname(fileURLToPath(import.meta.url))
const modules = join(own, 'node_modules')
const nodePackage = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`

/** Installs what is not there in the locked version and returns `{ node, entries }`: the binary, and the suites by name. Throws. */
export function install() {
  const { packages } = JSON.parse(readFileSync(join(own, 'package-lock.json'), 'utf8'))
  const isPackaged = packages[`node_modules/${nodePackage}`] !== undefined
  if (!isPackaged && !isNew(process.version))
    throw new Error(`the suite needs Node 24, and there is no package ${nodePackage}: run this with Node 24`)
  const needed = ['conformance01', 'conformance02', ...(isPackaged ? [nodePackage] : [])]
  const isThere = (name) => installedVersion(name) === packages[`node_modules/${name}`].version
  if (!needed.every(isThere)) installAll()
  const missing = needed.filter((name) => !isThere(name))
  if (missing.length > 0) throw new Error(`npm ci in ${own} did not install ${missing.join(', ')}`)
  const binary = join(modules, nodePackage, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  const node = isPackaged ? binary : process.execPath
  const entry = (name) => join(modules, name, 'dist', 'index.js')
  return { node, entries: { conformance01: entry('conformance01'), conformance02: entry('conformance02') } }
}

function isNew(version) {
  return Number(/^v(\d+)/.exec(version)?.[1]) >= 24
}

function installedVersion(name) {
  try {
    return JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')).version
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
