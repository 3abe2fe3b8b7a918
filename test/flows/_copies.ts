import { cpSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inRoot } from '../support/root.js'
import type { TestContext } from '../support/suite.js'
import { door, tempFolder, writeFiles } from './_programs.js'

const sources = ['index.js', 'runtime', 'protocol', 'transports', 'server', 'client']

/** A program that can import two copies of the library from its folder, bundled where this run has it so; gives its path. */
export function twoCopies(t: TestContext, program: string): string {
  const folder = tempFolder(t)
  const library = dirname(fileURLToPath(door))
  const isBundled = library !== inRoot('.t')
  for (const copy of ['one', 'two']) {
    for (const part of isBundled ? ['.'] : sources)
      cpSync(join(library, part), join(folder, copy, part), { recursive: true })
    cpSync(inRoot('.t', 'package.json'), join(folder, copy, 'package.json'))
  }
  symlinkSync(inRoot('node_modules'), join(folder, 'node_modules'))
  return writeFiles(t, { 'main.mjs': program }, folder)['main.mjs']
}
