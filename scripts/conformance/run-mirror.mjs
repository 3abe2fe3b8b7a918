// Runs a program of test/conformance/ in this process: signals, exit code and terminal are its own.
import { existsSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { floors, listSources, repository } from '../house/sources.mjs'
import { mirror, outputPath, transpile } from '../house/transpile.mjs'

const folders = [...floors, 'test/conformance']

/** Brings the mirror up to date, if it is not, and imports the program; programs started side by side may do so at once. */
export async function runMirrored(program) {
  await update()
  process.setSourceMapsEnabled(true)
  await import(pathToFileURL(mirrored(`test/conformance/${program}`)).href)
}

/** The suite starts its client a hundred times, mostly without a change in between. */
async function update() {
  const stale = listSources(repository, folders).filter(isStale)
  // a mirror that is just being made has its package.json last
  if (stale.length === 0 && existsSync(join(repository, mirror, 'package.json'))) return
  const began = new Date()
  const broken = await transpile(repository, folders)
  for (const { text } of broken) console.error(`does not parse: ${text}`)
  // a file that came out the same was not written again
  for (const path of stale) utimesSync(mirrored(path), began, began)
}

function isStale(path) {
  const source = statSync(join(repository, path), { throwIfNoEntry: false })
  const target = statSync(mirrored(path), { throwIfNoEntry: false })
  return source !== undefined && (target === undefined || target.mtimeMs < source.ctimeMs)
}

function mirrored(path) {
  return join(repository, mirror, outputPath(path))
}
