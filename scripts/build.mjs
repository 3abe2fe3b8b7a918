// npm run build: dist/ as it is published: one bundle per door (dependencies external, shared chunks), and
// the declarations.
//   node scripts/build.mjs [--maps]
// With --maps there are source maps, too, which the package does not have: they lead to the sources of the
// repository.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle, bundleProgram } from './house/bundle.mjs'
import { condense } from './house/condense.mjs'
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
  const { values } = parseArgs({ options: { maps: { type: 'boolean', default: false } } })
  const entries = [...doors, fields, ...workers]
  const missing = [...entries, program].filter((path) => !existsSync(join(repository, path)))
  if (missing.length > 0) {
    console.error(`build: no such file: ${missing.join(', ')} (the list is in scripts/house/entries.mjs)`)
    return 1
  }
  const dist = join(repository, 'dist')
  rmSync(dist, { recursive: true, force: true })
  if (!(await bundleAll(entries))) return 1
  await condense(dist, values.maps)
  // completes a file of servers in editors
  const schema = JSON.parse(readFileSync(join(repository, 'command', 'mcp.schema.json'), 'utf8'))
  writeFileSync(join(dist, 'mcp.schema.json'), JSON.stringify(schema))
  return (await declare({ ...declarations, maps: values.maps })) ? 0 : 1
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
