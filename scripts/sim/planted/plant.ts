import { linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
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

/**
 * Copies the transpiled project, with all of these bugs in it; `switchTo` of `switch.ts` says which one acts, at
 * first none. Throws where the text of a bug is not found.
 */
export function plant(bugs: readonly Bug[] = []): Planted {
  const files = [...new Set(bugs.map(({ file }) => file))].map((file) => ({
    file,
    source: readFileSync(join(sources, file), 'utf8'),
    bugs: bugs.filter((bug) => bug.file === file),
  }))
  const made = files.flatMap(({ file, source, bugs }) => writeEditions(file, source, bugs))
  const folder = mkdtempSync(join(mirror, 'planted-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  try {
    for (const name of ['index.js', 'testing.js', 'package.json'])
      linkSync(join(mirror, name), join(folder, name))
    for (const name of folders) linkAll(join(mirror, name), join(folder, name))
    for (const { file } of files) rmSync(join(folder, toJs(file))) // or it would be written into the original, too
    for (const [file, code] of made) writeFileSync(join(folder, file), code)
    return { folder, remove }
  } catch (error) {
    remove()
    throw error
  }
}

/**
 * The module as it is (`a.0.js`) and once more for each bug (`a.1.js`), behind one that gives out the exports of
 * that which acts: they are bindings, and who imports them sees each change.
 */
function writeEditions(file: string, source: string, bugs: readonly Bug[]): [string, string][] {
  const editions = [source, ...bugs.map((bug) => plantIn(bug, source))]
  const codes = editions.map((edition) => transpile(file, edition))
  const [, list = ''] = /^export \{([^}]*)\};$/m.exec(codes[0] ?? '') ?? []
  const names = list.split(',').map((name) => name.trim())
  const place = (at: number): string => toJs(file).replace(/js$/, `${at}.js`)
  const choices = bugs.map(({ name }, at) => `[${JSON.stringify(name)}]: edition${at + 1}`)
  const front = [
    ...codes.map((_, at) => `import * as edition${at} from './${basename(place(at))}'`),
    `import { choose } from '${mirrorOf(file)}scripts/sim/planted/switch.js'`,
    `const editions = { ${choices.join(', ')} }`,
    `export let { ${names.join(', ')} } = edition0`,
    `choose((bug) => void ({ ${names.join(', ')} } = editions[bug] ?? edition0))`,
  ]
  return [[toJs(file), front.join('\n')], ...codes.map((code, at): [string, string] => [place(at), code])]
}

/** The way from a file of the project to its root. */
function mirrorOf(file: string): string {
  return '../'.repeat(file.split('/').length - 1)
}

function toJs(file: string): string {
  return file.replace(/\.ts$/, '.js')
}

function transpile(file: string, source: string): string {
  const { code } = transformSync(source, {
    loader: 'ts',
    format: 'esm',
    target: 'node20.19',
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  })
  if (!/^export \{[^}]*\};$/m.test(code)) throw new Error(`no exports were found in ${file}`)
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
