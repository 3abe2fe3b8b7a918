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
  sourcesContent: false, // the package has the sources, once: maps of declarations lead to files alone,
  logLevel: 'warning',
}

/**
 * Bundles the entries of a folder. Left to itself, esbuild makes a chunk for every combination of files that need it, most of them
 * tiny, and each costs the start of a program a third of a millisecond: so what is loaded at first, and needed by what is
 * loaded later, too, is kept together. Doors named in `alone` get no more than they need; those in `onTop` get all that the first entry
 * does, so that it has no more chunks because of them. Rejects when esbuild finds an error.
 */
export async function bundle({ folder, entries, alone, onTop = [], outdir }) {
  const options = {
    ...common,
    absWorkingDir: folder,
    entryPoints: entries,
    outdir,
    chunkNames: 'chunks/[name]-[hash]',
  }
  const { metafile } = await build({ ...options, write: false, metafile: true })
  const { later, shared } = divide(metafile.inputs, entries)
  const among = entries.filter((entry) => !alone.includes(entry) && !onTop.includes(entry))
  const everything = new Set([...shared, ...reach(metafile.inputs, entries.slice(0, 1))])
  const plugins = [
    keepTogether('shared', folder, shared, [...later, ...among]),
    keepTogether('everything', folder, [...everything], onTop),
  ]
  await build({ ...options, plugins, logOverride: { 'ignored-bare-import': 'silent' } })
}

/** Bundles a program that imports the doors by their names; what it imports late is a file of its own. */
export async function bundleProgram({ folder, entry, outdir }) {
  const chunkNames = `${dirname(entry)}/[name]-[hash]`
  // no paths of tsconfig.json: the doors stay outside, so that the program and its users' modules share them
  const tsconfigRaw = { compilerOptions: {} }
  await build({ ...common, absWorkingDir: folder, entryPoints: [entry], outdir, chunkNames, tsconfigRaw })
}

/** The files that are imported when they are first needed, and what they have in common with what is loaded at first. */
function divide(inputs, entries) {
  const later = new Set(
    Object.values(inputs).flatMap(({ imports }) =>
      imports.filter(({ kind, external }) => kind === 'dynamic-import' && !external).map(({ path }) => path),
    ),
  )
  const first = reach(inputs, entries)
  const shared = [...reach(inputs, later)].filter((path) => first.has(path) && !later.has(path))
  return { later, shared }
}

/** All files that are loaded with these. */
function reach(inputs, starts) {
  const seen = new Set()
  const visit = (path) => {
    if (seen.has(path)) return
    seen.add(path)
    for (const { kind, external, path: imported } of inputs[path].imports)
      if (kind === 'import-statement' && !external) visit(imported)
  }
  for (const start of starts) visit(start)
  return seen
}

/** Has each of some files import all of the shared ones: what the same files need goes into the same chunk. */
function keepTogether(name, folder, shared, among) {
  const paths = new Set(among.map((path) => join(folder, path)))
  const imports = shared.map((path) => `import ${JSON.stringify(join(folder, path))}`).join('\n')
  return {
    name: `keep-together-${name}`,
    setup({ onResolve, onLoad }) {
      const filter = new RegExp(`^${name}:all$`)
      onResolve({ filter }, ({ path }) => ({ path, namespace: name, sideEffects: true }))
      onLoad({ filter: /^/, namespace: name }, () => ({ contents: imports, resolveDir: folder }))
      onLoad({ filter: /\.[jt]s$/ }, async ({ path }) => {
        if (!paths.has(path)) return undefined
        const contents = `${await readFile(path, 'utf8')}\nimport '${name}:all'\n`
        return { contents, loader: extname(path).slice(1) }
      })
    },
  }
}
