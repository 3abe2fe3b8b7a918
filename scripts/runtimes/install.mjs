import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import { installLocked } from '../house/install-locked.mjs'
import { listFiles, repository } from '../house/sources.mjs'
import { mirror, outputPath } from '../house/transpile.mjs'

const own = dirname(fileURLToPath(import.meta.url))
const examples = 'test/examples'
const options = { loader: 'ts', target: 'node20.19' }

/** Installs the runtimes, from a lock file of their own, and returns name to how one runs a program. Throws. */
export function installRuntimes() {
  installLocked(own, () => ['bun', 'deno'])
  const modules = join(own, 'node_modules')
  return new Map([
    ['node', [process.execPath]],
    ['bun', [bunIn(join(modules, '@oven'))]],
    ['deno', [join(modules, '.bin', 'deno'), 'run', '--allow-all', '--quiet']],
  ])
}

/** The program itself: what npm starts is put in its place by an install script, and those are not run. */
function bunIn(folder) {
  const [platform] = readdirSync(folder)
  return join(folder, platform, 'bin', process.platform === 'win32' ? 'bun.exe' : 'bun')
}

/** Puts the package as it is published, and the examples as JavaScript, into a folder, which is returned. Throws. */
export function writePrograms() {
  const folder = join(repository, mirror, 'runtimes')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }\n')
  // Bun would take the sources of the repository for the package
  writeFileSync(join(folder, 'tsconfig.json'), '{}\n')
  unpackInto(join(folder, 'node_modules', 'caduceus'))
  const programs = listFiles(repository, examples).filter((path) => !path.endsWith('.test.ts'))
  for (const path of programs) {
    const target = programAt(folder, path)
    mkdirSync(dirname(target), { recursive: true })
    if (target.endsWith(path.slice(path.lastIndexOf('/')))) cpSync(join(repository, path), target)
    else writeFileSync(target, transformSync(readFileSync(join(repository, path)), options).code)
  }
  return folder
}

/** Where a program of the examples is. */
export function programAt(folder, path) {
  return join(folder, outputPath(path).slice(examples.length + 1))
}

/** Other packages are found further up, where the repository has them. */
function unpackInto(target) {
  const place = mkdtempSync(join(tmpdir(), 'packed-'))
  try {
    run('npm', ['pack', '--pack-destination', place], repository)
    const [tarball] = listFiles(place)
    mkdirSync(target)
    run('tar', ['-xzf', join(place, tarball), '--strip-components', '1', '-C', target], place)
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

function run(command, args, cwd) {
  const { status, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed\n${stderr}`, { cause: error })
}
