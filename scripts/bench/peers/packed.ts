import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { stop } from 'esbuild'

const sources = fileURLToPath(new URL('../../../', import.meta.url))
const house = new URL('../../house/', import.meta.url)
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

/** Bundles the library the way the build does, into a folder of its own from where its packages are found. */
export async function pack(): Promise<Packed> {
  const { doors, doorsApart, doorsOnTop, floorsAlone } = (await import(
    new URL('entries.mjs', house).href
  )) as Entries
  const { bundle } = (await import(new URL('bundle.mjs', house).href)) as Bundler
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

function toCompiled(door: string): string {
  return door.replace(/\.ts$/, '.js')
}
