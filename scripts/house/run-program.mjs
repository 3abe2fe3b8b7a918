// Runs a program of scripts/, written in TypeScript against the sources, in this process: signals, exit code and terminal are its own.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { floors, repository } from './sources.mjs'
import { mirror, outputPath, transpile } from './transpile.mjs'

/** Transpiles what the program needs and imports it; says so and exits 1 when it is missing or a source does not parse. */
export async function runProgram(path) {
  if (!existsSync(join(repository, path))) return refuse(`${path} does not exist yet`)
  const broken = await transpile(repository, [...floors, 'scripts', 'test/support'])
  if (broken.length > 0) return refuse(broken.map(({ text }) => `does not parse: ${text}`).join('\n'))
  process.setSourceMapsEnabled(true)
  await import(pathToFileURL(join(repository, mirror, outputPath(path))).href)
}

function refuse(message) {
  console.error(message)
  process.exitCode = 1
}
