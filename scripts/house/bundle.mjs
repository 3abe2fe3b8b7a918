// How the library is bundled: one file per door, packages external, and what several files need in chunks that they share.
import { readFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { build } from 'esbuild'

const common = {
  outbase: '.',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  packages: 'external',
  sourcemap: true,
  sourcesContent: false, // the sources are beside it
  logLevel: 'warning',
}

/**
 * Bundles the entries of a folder. Left to itself, esbuild makes a chunk for every combination of files that need
 * it, most of them tiny, and each costs the start of a program a third of a millisecond. So what one of the doors
 * in `apart` needs is kept together, and so is what several of them do. Doors named in `alone` get no more than
 * they need; those in `onTop` get all that the first entry does, so that it has no more chunks because of them.
 * Rejects when esbuild finds an error.
 */
export async function bundle({ folder, entries, alone, apart, onTop = [], outdir }) {
  const options = {
    ...common,
    absWorkingDir: folder,
    entryPoints: entries,
    outdir,
    chunkNames: 'chunks/[name]-[hash]',
  }
  const { metafile } = await build({ ...options, write: false, metafile: true })
  const { inputs } = metafile
  const among = entries.filter((entry) => !alone.includes(entry) && !onTop.includes(entry))
  const groups = groupsOf(inputs, among, apart)
  const everything = new Set([...groups.flatMap(({ files }) => files), ...reach(inputs, entries.slice(0, 1))])
  const plugins = [keepTogether(folder, [...groups, { files: [...everything], needing: onTop }])]
  await build({ ...options, plugins, logOverride: { 'ignored-bare-import': 'silent' } })
}

/** Bundles a program that imports the doors by their names; what it imports late is a file of its own. */
export async function bundleProgram({ folder, entry, outdir }) {
  const chunkNames = `${dirname(entry)}/[name]-[hash]`
  // no paths of tsconfig.json: the doors stay outside, so that the program and its users' modules share them
  const tsconfigRaw = { compilerOptions: {} }
  await build({ ...common, absWorkingDir: folder, entryPoints: [entry], outdir, chunkNames, tsconfigRaw })
}

/** What is loaded at first, and of use to one door, now or later, or to several, and all who need any of it. */
function groupsOf(inputs, among, apart) {
  const later = Object.values(inputs).flatMap(({ imports }) => imports.filter(isLate).map(({ path }) => path))
  const uses = apart.map((door) => ({ door, reached: reach(inputs, [door], true) }))
  const groups = new Map()
  for (const file of reach(inputs, among)) {
    const doors = uses.filter(({ reached }) => reached.has(file)).map(({ door }) => door)
    if (doors.length === 0 || among.includes(file)) continue
    const [door] = doors.length === 1 ? doors : ['several']
    groups.set(door, [...(groups.get(door) ?? []), file])
  }
  const starts = [...among, ...new Set(later)].map((path) => ({ path, reached: reach(inputs, [path]) }))
  return [...groups.values()].map((files) => {
    const needs = ({ reached }) => files.some((file) => reached.has(file))
    return { files, needing: starts.filter(needs).map(({ path }) => path) }
  })
}

function isLate({ kind, external }) {
  return kind === 'dynamic-import' && !external
}

/** All files that are loaded with these, or also what is loaded later. */
function reach(inputs, starts, withLater = false) {
  const seen = new Set()
  const visit = (path) => {
    if (seen.has(path)) return
    seen.add(path)
    for (const one of inputs[path].imports)
      if ((one.kind === 'import-statement' && !one.external) || (withLater && isLate(one))) visit(one.path)
  }
  for (const start of starts) visit(start)
  return seen
}

/** Has each of some files import all of a group: what the same files need goes into the same chunk. */
function keepTogether(folder, groups) {
  const named = new Map(groups.map(({ files }, number) => [`group:${number}`, files]))
  const needed = (path) =>
    groups.flatMap(({ needing }, number) =>
      needing.some((one) => join(folder, one) === path) ? [`import 'group:${number}'\n`] : [],
    )
  return {
    name: 'keep-together',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^group:/ }, ({ path }) => ({ path, namespace: 'group', sideEffects: true }))
      onLoad({ filter: /^/, namespace: 'group' }, ({ path }) => ({
        contents: named
          .get(path)
          .map((file) => `import ${JSON.stringify(join(folder, file))}`)
          .join('\n'),
        resolveDir: folder,
      }))
      onLoad({ filter: /\.[jt]s$/ }, async ({ path }) => {
        const imports = needed(path)
        if (imports.length === 0) return undefined
        const contents = `${await readFile(path, 'utf8')}\n${imports.join('')}`
        return { contents, loader: extname(path).slice(1) }
      })
    },
  }
}
