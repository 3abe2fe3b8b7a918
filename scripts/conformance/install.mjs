// What the runner needs, from a lock file of its own; nothing of it has an install script.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installLocked } from '../house/install-locked.mjs'

const own = dirname(fileURLToPath(import.meta.url))
const modules = join(own, 'node_modules')
const nodePackage = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
const suites = ['conformance01', 'conformance02']

/** Installs what is not there in the locked version and returns `{ node, entries }`: the binary, and the suites by name. Throws. */
export function install() {
  let isPackaged = false
  installLocked(own, (lockedVersion) => {
    isPackaged = lockedVersion(nodePackage) !== undefined
    if (!isPackaged && !isNew(process.version))
      throw new Error(
        `the suite needs Node 24, and there is no package ${nodePackage}: run this with Node 24`,
      )
    return isPackaged ? [...suites, nodePackage] : suites
  })
  const binary = join(modules, nodePackage, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  const entry = (name) => [name, join(modules, name, 'dist', 'index.js')]
  return { node: isPackaged ? binary : process.execPath, entries: Object.fromEntries(suites.map(entry)) }
}

function isNew(version) {
  return Number(/^v(\d+)/.exec(version)?.[1]) >= 24
}
