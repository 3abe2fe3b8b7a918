// The rules of the house: what `npm run check` reads the sources for. All of it happens in this process, so that
// tests of a rule need not start a program.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkApi } from './api-digest.mjs'
import { checkChance } from './chance.mjs'
import { checkDoors } from './doors.mjs'
import { checkErrorIndex } from './error-index.mjs'
import { checkImports } from './floors.mjs'
import { checkMachines } from './machines.mjs'
import { checkName, checkText } from './names.mjs'
import { checkPage } from './page.mjs'
import { isLibrary, listFiles } from './sources.mjs'
import { readSyntax } from './syntax.mjs'
import { checkTestNames } from './test-names.mjs'
import { createTypeNames } from './type-names.mjs'

const textFiles = /\.(?:ts|mjs|json|md|yml)$|(?:^|\/)(?:\.gitignore|run)$/

/** How many problems a tree has, and a line for each; with a scope only those of its files and folders. */
export async function checkHouse(root, scope) {
  const paths = listFiles(root).filter((path) => textFiles.test(path))
  const library = new Map()
  const tests = new Map()
  const typeNames = createTypeNames()
  const findings = []
  const add = (path, found) => findings.push(...found.map((finding) => ({ path, ...finding })))
  for (const path of paths) {
    const text = readFileSync(join(root, path), 'utf8')
    add(path, checkName(path))
    add(path, checkText(path, text))
    if (!path.endsWith('.ts')) continue
    const inLibrary = isLibrary(path)
    const syntax = readSyntax(path, text, inLibrary)
    add(path, syntax.findings)
    if (path.startsWith('test/')) tests.set(path, syntax.imports)
    add(path, checkTestNames(path, syntax.file))
    if (!inLibrary) continue
    library.set(path, syntax.imports)
    add(path, checkChance(path, syntax.file))
    add(path, typeNames.read(path, syntax.file))
  }
  findings.push(
    ...checkImports(library),
    ...checkDoors(root, tests),
    ...checkApi(root),
    ...checkErrorIndex(root),
    ...(await checkPage(root)),
    ...(await checkMachines(root)),
  )
  const wanted = findings.filter(({ path }) => inScope(path, scope))
  wanted.sort((a, b) => a.path.localeCompare(b.path) || a.line - b.line)
  const text = wanted.map((finding) => `${finding.path}:${finding.line} ${finding.text}`).join('\n')
  return { problems: wanted.length, text }
}

/** Whether a file is one of those that were asked for, or below one of their folders. */
export function inScope(path, scope) {
  return scope.length === 0 || scope.some((part) => path === part || path.startsWith(`${part}/`))
}
