import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, stop } from 'esbuild'

const sources = fileURLToPath(new URL('../../../', import.meta.url))
const entries = new URL('../../house/entries.mjs', import.meta.url).href
const contender = 'scripts/bench/peers/contenders/caduceus.js'

/** This library as it is packed, with the contender beside it; `module` is the contender's URL. */
export interface Packed {
  readonly module: string
  remove(): Promise<void>
}

/** Bundles the library the way the build does, into a folder of its own from where its packages are found. */
export async function pack(): Promise<Packed> {
  const { doors } = (await import(entries)) as { doors: readonly string[] }
  const folder = await mkdtemp(join(sources, 'peers-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await build({
      absWorkingDir: sources,
      entryPoints: doors.map((door) => door.replace(/\.ts$/, '.js')),
      outdir: folder,
      outbase: '.',
      bundle: true,
      splitting: true,
      chunkNames: 'chunks/[name]-[hash]',
      format: 'esm',
      platform: 'node',
      target: 'node20.19',
      packages: 'external',
      sourcemap: true,
      sourcesContent: false,
      logLevel: 'warning',
    })
    await stop()
    await writeFile(join(folder, 'package.json'), '{ "type": "module", "sideEffects": false }\n')
    const module = join(folder, contender)
    await mkdir(dirname(module), { recursive: true })
    await copyFile(join(sources, contender), module)
    return { module: pathToFileURL(module).href, remove }
  } catch (error) {
    await remove()
    throw error
  }
}
