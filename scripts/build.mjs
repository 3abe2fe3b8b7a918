// npm run build: dist/ with one bundle per door (dependencies external, shared chunks, source maps) and the declarations.
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { bundle, bundleProgram } from './house/bundle.mjs'
import { declare } from './house/declarations.mjs'
import { doors, doorsApart, doorsOnTop, fields, floorsAlone, program, workers } from './house/entries.mjs'
import { repository } from './house/sources.mjs'

const declarations = {
  folder: repository,
  project: 'scripts/tsconfig.build.json',
  entries: doors,
  outdir: 'dist',
}

process.exitCode = await main()

async function main() {
  const entries = [...doors, fields, ...workers]
  const missing = [...entries, program].filter((path) => !existsSync(join(repository, path)))
  if (missing.length > 0) {
    console.error(`build: no such file: ${missing.join(', ')} (the list is in scripts/house/entries.mjs)`)
    return 1
  }
  rmSync(join(repository, 'dist'), { recursive: true, force: true })
  return (await bundleAll(entries)) && (await declare(declarations)) ? 0 : 1
}

async function bundleAll(entries) {
  try {
    await bundle({
      folder: repository,
      entries,
      alone: [...floorsAlone, fields],
      apart: doorsApart,
      onTop: doorsOnTop,
      outdir: 'dist',
    })
    await bundleProgram({ folder: repository, entry: program, outdir: 'dist' })
    return true
  } catch {
    return false // esbuild has printed what is wrong
  }
}
