// Mirrors the sources into `.t/`, TypeScript as JavaScript, so that plain node runs them without bundling.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { stop, transform, version } from 'esbuild'
import { floorsWithDoors, listFiles, listSources, sourceFolders } from './sources.mjs'

/** Where the transpiled mirror lives, relative to the root. */
export const mirror = '.t'

/**
 * Brings `.t/` up to date and returns the files that do not parse, as `{ path, text }`. Such a file becomes a module that throws
 * its syntax error, so that only what imports it fails. Files are replaced by rename and only when they differ: runs side by side
 * do not disturb each other.
 */
export async function transpile(root, folders = sourceFolders) {
  // The mirror is listed before the sources: what another run adds meanwhile is never taken for stale.
  const present = folders.flatMap((folder) => listFiles(join(root, mirror), folder))
  const paths = listSources(root, folders)
  const broken = []
  const stale = isOurs(root) ? paths.filter((path) => isStale(root, path)) : paths
  await Promise.all(stale.map((path) => transpileFile(root, path, broken)))
  await stop()
  replace(join(root, mirror, 'package.json'), mirrorPackage())
  removeStale(root, present, new Set(paths.map(outputPath)))
  return broken
}

/** Where a source file lands inside `.t/`. */
export function outputPath(path) {
  return isTypeScript(path) ? `${path.slice(0, -3)}.js` : path
}

/** Whether the mirror was made by this program and this version of esbuild. */
function isOurs(root) {
  return read(join(root, mirror, 'package.json'))?.toString() === mirrorPackage()
}

function isStale(root, path) {
  const target = join(root, mirror, outputPath(path))
  const made = statSync(target, { throwIfNoEntry: false })
  return made === undefined || made.mtimeMs <= statSync(join(root, path)).mtimeMs
}

async function transpileFile(root, path, broken) {
  const target = join(root, mirror, outputPath(path))
  const source = readFileSync(join(root, path))
  if (!isTypeScript(path)) return replace(target, source)
  try {
    const { code } = await transform(source, {
      loader: 'ts',
      format: 'esm',
      target: 'node20.19',
      sourcemap: 'inline',
      sourcefile: relative(dirname(target), join(root, path)),
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    })
    replace(target, code)
  } catch (error) {
    const { location, text } = error.errors?.[0] ?? { text: String(error) }
    const message = `${path}:${location?.line ?? 1}: ${text}`
    broken.push({ path, text: message })
    replace(target, `throw new SyntaxError(${JSON.stringify(message)})\n`)
    utimesSync(target, 0, 0) // stale for ever: each run tells of it
  }
}

function isTypeScript(path) {
  return path.endsWith('.ts') && !path.endsWith('.d.ts')
}

/** Inside `.t/`, `import 'caduceus/client'` means the transpiled folder, or its bundle where a run asks for that (`built.mjs`). */
function mirrorPackage() {
  const doors = floorsWithDoors.map((floor) => [`./${floor}`, `${floor}/index.js`])
  const files = [
    ['.', 'index.js'],
    ['./testing', 'testing.js'],
    ['./otel', 'otel.js'],
    ['./openapi', 'openapi.js'],
    ['./fetch', 'fetch.js'],
    // for tests: the program as the package has it, or as it is
    ['./command', 'command/main.js'],
    ...doors,
  ]
  const exports = Object.fromEntries(
    files.map(([door, file]) => [door, { built: `./dist/${file}`, default: `./${file}` }]),
  )
  const made = createHash('sha256')
    .update(version)
    .update(readFileSync(import.meta.filename))
    .digest('hex')
  return `${JSON.stringify({ name: 'caduceus', type: 'module', made, exports }, null, 2)}\n`
}

function replace(target, content) {
  const now = new Date()
  if (read(target)?.equals(Buffer.from(content))) return utimesSync(target, now, now)
  mkdirSync(dirname(target), { recursive: true })
  const temporary = `${target}.${process.pid}.new`
  writeFileSync(temporary, content)
  renameSync(temporary, target)
}

function read(path) {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

function removeStale(root, present, wanted) {
  for (const path of present) {
    if (!wanted.has(path) && !path.endsWith('.new')) rmSync(join(root, mirror, path), { force: true })
  }
}
