import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const mine = fileURLToPath(new URL('../../../', import.meta.url))
const contenders = 'scripts/bench/peers/contenders'
const needed = ['caduceus.js', 'more-tools.js']

/** This library as it is packed, with the contender beside it; `module` is the contender's URL. */
export interface Packed {
  readonly module: string
  remove(): Promise<void>
}

interface Entries {
  readonly doors: readonly string[]
  readonly doorsApart: readonly string[]
  readonly doorsOnTop: readonly string[]
  readonly floorsAlone: readonly string[]
}

interface Transpiler {
  readonly mirror: string
  transpile(root: string): Promise<unknown>
}

interface Bundler {
  bundle(how: {
    readonly folder: string
    readonly entries: readonly string[]
    readonly alone: readonly string[]
    readonly apart: readonly string[]
    readonly onTop: readonly string[]
    readonly outdir: string
  }): Promise<void>
}

/**
 * Bundles the library the way the build does, into a folder of its own from where its packages are found. `tree`:
 * another checkout, whose packages are installed; default this one.
 */
export async function pack(tree?: string): Promise<Packed> {
  const sources = tree === undefined ? mine : await transpiled(tree)
  const { doors, doorsApart, doorsOnTop, floorsAlone } = await load<Entries>(sources, 'entries')
  const { bundle } = await load<Bundler>(sources, 'bundle')
  const folder = await mkdtemp(join(sources, 'peers-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await bundle({
      folder: sources,
      entries: doors.map(toCompiled),
      alone: floorsAlone.map(toCompiled),
      apart: doorsApart.map(toCompiled),
      onTop: doorsOnTop.map(toCompiled),
      outdir: folder,
    })
    const { stop } = createRequire(join(sources, 'package.json'))('esbuild') as { stop(): Promise<void> }
    await stop()
    await writeFile(join(folder, 'package.json'), '{ "type": "module", "sideEffects": false }\n')
    const place = join(folder, contenders)
    await mkdir(place, { recursive: true })
    for (const name of needed) await copyFile(join(sources, contenders, name), join(place, name))
    return { module: pathToFileURL(join(place, 'caduceus.js')).href, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function transpiled(tree: string): Promise<string> {
  const { mirror, transpile } = await load<Transpiler>(tree, 'transpile')
  await transpile(tree)
  return join(tree, mirror)
}

/** A module of the house of a tree. */
async function load<Module>(root: string, name: string): Promise<Module> {
  return (await import(pathToFileURL(join(root, 'scripts', 'house', `${name}.mjs`)).href)) as Module
}

function toCompiled(door: string): string {
  return door.replace(/\.ts$/, '.js')
}
