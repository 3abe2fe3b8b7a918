// What the package loads, without what only its size pays for: spaces, and the names of local variables.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { minify } from 'terser'
import { listFiles } from './sources.mjs'

/**
 * Functions, classes and what a file exports keep their names, and lines stay short: a stack trace says who
 * called whom, and an error quotes a line.
 */
const options = {
  module: true,
  compress: {
    defaults: false,
    join_vars: true,
    conditionals: true,
    if_return: true,
    booleans: true,
    dead_code: true,
    properties: true,
    comparisons: true,
    sequences: true,
    switches: true,
  },
  mangle: { keep_fnames: true, keep_classnames: true },
  format: { ecma: 2020, max_line_len: 160, preserve_annotations: true, shebang: true },
}

/** Condenses each JavaScript file below a folder, with or without its map. Rejects for one that is none. */
export async function condense(folder, maps) {
  for (const path of listFiles(folder).filter((path) => path.endsWith('.js')))
    await condenseFile(join(folder, path), maps)
}

async function condenseFile(path, maps) {
  const mapPath = `${path}.map`
  const sourceMap = maps && {
    content: readFileSync(mapPath, 'utf8'),
    filename: basename(path),
    url: basename(mapPath),
  }
  const source = readFileSync(path, 'utf8')
  // a class in a variable has the name of that
  const reserved = [...source.matchAll(/([\w$]+) = class\b/g)].map(([, name]) => name)
  const mangle = { ...options.mangle, reserved }
  const { code, map } = await minify(source, { ...options, mangle, sourceMap })
  writeFileSync(path, code)
  // esbuild names files by what is in them and in their maps: it makes them in any case, so that the names
  // are the same
  if (maps) writeFileSync(mapPath, map)
  else rmSync(mapPath)
}
