// npm run build: dist/ with one bundle per door (dependencies external, shared chunks, source maps) and the declarations.
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { doors, workers } from './house/entries.mjs'
import { repository } from './house/sources.mjs'

process.exitCode = await main()

async function main() {
  const entries = [...doors, ...workers]
  const missing = entries.filter((path) => !existsSync(join(repository, path)))
  if (missing.length > 0) {
    console.error(`build: no such file: ${missing.join(', ')} (the list is in scripts/house/entries.mjs)`)
    return 1
  }
  rmSync(join(repository, 'dist'), { recursive: true, force: true })
  const bundled = await bundle(entries)
  return bundled && declare() ? 0 : 1
}

async function bundle(entries) {
  try {
    await build({
      absWorkingDir: repository,
      entryPoints: entries,
      outdir: 'dist',
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
    return true
  } catch {
    return false // esbuild has printed what is wrong
  }
}

function declare() {
  const tsc = join(repository, 'node_modules', 'typescript', 'bin', 'tsc')
  const project = join(repository, 'scripts', 'tsconfig.build.json')
  const { status } = spawnSync(process.execPath, [tsc, '-p', project], { stdio: 'inherit' })
  return status === 0
}
