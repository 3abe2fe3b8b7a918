// The library bundled as in the package, for tests, and the programs they start: one that loads 20 files starts in
// a third of the time of one that loads 600.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { bundle, bundleProgram } from './bundle.mjs'
import { doors, doorsApart, doorsOnTop, fields, floorsAlone, program, workers } from './entries.mjs'
import { floors, isLibrary, listFiles, listSources } from './sources.mjs'
import { mirror } from './transpile.mjs'

/** What makes `import 'caduceus'` inside the mirror mean the bundle, in a program and all that it starts. */
export const builtOptions = '--conditions=built'

/** Brings the bundle in the mirror up to date; false when esbuild has said what is wrong. */
export async function buildMirror(root) {
  const target = join(root, mirror, 'dist')
  const made = join(target, 'made')
  const entries = [...doors, fields, ...workers]
  if ([...entries, program].some((path) => !existsSync(join(root, path)))) return false
  const house = [import.meta.filename, join(import.meta.dirname, 'bundle.mjs')]
  const sources = listSources(root, floors).map((path) => join(root, path))
  const last = statSync(made, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if ([...sources, ...house].every((path) => statSync(path).mtimeMs < last)) return true
  const fresh = join(root, mirror, `dist.${process.pid}`)
  try {
    await bundle({
      folder: root,
      entries,
      alone: [...floorsAlone, fields],
      apart: doorsApart,
      onTop: doorsOnTop,
      outdir: join(mirror, `dist.${process.pid}`),
    })
    await bundleProgram({ folder: root, entry: program, outdir: fresh })
    // by rename, chunks first: a run beside this one sees whole files
    for (const path of listFiles(fresh).sort((a, b) => rank(a) - rank(b))) {
      mkdirSync(dirname(join(target, path)), { recursive: true })
      renameSync(join(fresh, path), join(target, path))
    }
    writeFileSync(made, '')
    removeOld(target)
    return true
  } catch {
    return false
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

/** Those of earlier builds; a run that has begun a while ago may still load some of its own. */
function removeOld(target) {
  const oldest = Date.now() - 2 * 60 * 60 * 1_000
  for (const path of listFiles(target).map((each) => join(target, each)))
    if (statSync(path).mtimeMs < oldest) rmSync(path)
}

function rank(path) {
  return /^chunks\/|-[A-Z0-9]{8}\.js/.test(path) ? 0 : 1
}

/**
 * Whether a test and all that it names by a relative path reach the library through its doors, by name. Another one would
 * load the library twice.
 */
export function usesDoorsAlone(root, path, seen = new Set()) {
  if (seen.has(path)) return true
  seen.add(path)
  // the command is a program: what it takes from behind the doors is its own copy in the package, too
  if (isLibrary(path)) return path.startsWith('command/')
  const text = readFileSync(join(root, path), 'utf8')
  // programs of a copy of the repository would look for a bundle that is not copied with it
  if (seen.size === 1 && text.includes('cpSync(')) return false
  const loading = text.replaceAll(/^(?:import|export) type [^']*'[^'\n]*'/gm, '')
  const named = [...loading.matchAll(/'(\.\.?\/[^'\n]*)\.js'/g)].map(([, name]) =>
    posix.join(posix.dirname(path), `${name}.ts`),
  )
  return named.every((each) => !existsSync(join(root, each)) || usesDoorsAlone(root, each, seen))
}
