// Tests go through the doors. One that does not is named, with its reason, in the README of its room.
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { doors } from './entries.mjs'
import { isLibrary } from './sources.mjs'

const heading = /^## Behind the doors$/

/**
 * Checks the imports of files below `test/`, given as a map of path to imports, against the lists of the rooms;
 * returns `{ path, line, text }` findings.
 */
export function checkDoors(root, tests) {
  const pages = new Set([...tests.keys()].map(pageOf))
  const named = [...pages].flatMap((page) => readNamed(root, page))
  const isNamed = new Set(named.map(({ file }) => file))
  const findings = named.flatMap((entry) => judgeNamed(entry, tests))
  for (const [path, imports] of tests) {
    const found = imports.find(({ specifier }) => isInternal(path, specifier))
    if (!found || isNamed.has(path)) continue
    const text = `imports ${resolveImport(path, found.specifier)}: go through a door, or say why not in ${pageOf(path)}`
    findings.push({ path, line: found.line, text })
  }
  return findings
}

function pageOf(path) {
  return `${path.split('/', 2).join('/')}/README.md`
}

function judgeNamed({ path, line, file }, tests) {
  const imports = tests.get(file)
  if (!imports) return [{ path, line, text: `names ${file}, which does not exist` }]
  if (imports.some(({ specifier }) => isInternal(file, specifier))) return []
  return [{ path, line, text: `names ${file}, which imports no internals` }]
}

/** The files that the list of a room names, in backticks and relative to it. */
function readNamed(root, path) {
  if (!existsSync(join(root, path))) return []
  const lines = readFileSync(join(root, path), 'utf8').split('\n')
  const start = lines.findIndex((line) => heading.test(line))
  if (start < 0) return []
  const length = lines.slice(start + 1).findIndex((line) => line.startsWith('## '))
  const end = length < 0 ? lines.length : start + 1 + length
  return lines.slice(start, end).flatMap((text, index) =>
    [...text.matchAll(/`([\w./-]+\.ts)`/g)].map(([, name]) => ({
      path,
      line: start + index + 1,
      file: posix.join(posix.dirname(path), name),
    })),
  )
}

function isInternal(path, specifier) {
  if (!specifier.startsWith('.')) return false
  const target = resolveImport(path, specifier)
  return isLibrary(target) && !doors.includes(target)
}

function resolveImport(path, specifier) {
  return posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts')
}
