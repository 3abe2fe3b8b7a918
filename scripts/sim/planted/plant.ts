import { linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import type { Bug } from './bugs.js'

/** The transpiled project that this file is part of; the sources stand around it. */
const mirror = fileURLToPath(new URL('../../../', import.meta.url))
const sources = fileURLToPath(new URL('../../../../', import.meta.url))
const folders = ['runtime', 'protocol', 'transports', 'server', 'client', 'scripts']

/** A copy of the transpiled project; its files are those of the original, but for what is planted. */
export interface Planted {
  readonly folder: string
  remove(): void
}

/** Copies the transpiled project, with a bug if one is given. Throws where the text of the bug is not found. */
export function plant(bug?: Bug): Planted {
  const code = bug === undefined ? undefined : transpile(bug)
  const folder = mkdtempSync(join(mirror, 'planted-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  try {
    for (const name of ['index.js', 'testing.js', 'package.json'])
      linkSync(join(mirror, name), join(folder, name))
    for (const name of folders) linkAll(join(mirror, name), join(folder, name))
    if (bug !== undefined && code !== undefined) {
      const target = join(folder, bug.file.replace(/\.ts$/, '.js'))
      rmSync(target) // or it would be written into the original, too
      writeFileSync(target, code)
    }
    return { folder, remove }
  } catch (error) {
    remove()
    throw error
  }
}

function transpile(bug: Bug): string {
  const source = plantIn(bug, readFileSync(join(sources, bug.file), 'utf8'))
  const { code } = transformSync(source, {
    loader: 'ts',
    format: 'esm',
    target: 'node20.19',
    sourcemap: 'inline',
    sourcefile: join(sources, bug.file),
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  })
  return code
}

/** The source with the bug. Throws unless its text stands there once. */
export function plantIn({ name, file, find, replace }: Bug, source: string): string {
  const parts = source.split(find)
  if (parts.length === 2) return parts.join(replace)
  const moved =
    parts.length === 1
      ? 'it is not there any more: find where the code has gone, and'
      : `it is there ${parts.length - 1} times: take more of the lines around it, and`
  throw new Error(
    `the planted bug '${name}' changes one place in ${file}, and ${moved} correct it in scripts/sim/planted/bugs.ts:\n${find}`,
  )
}

function linkAll(from: string, to: string): void {
  mkdirSync(to)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [here, there] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) linkAll(here, there)
    else if (!entry.name.endsWith('.new')) linkSync(here, there)
  }
}
