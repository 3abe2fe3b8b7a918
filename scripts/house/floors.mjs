// The rules of imports: floors, rooms, doors, homes of packages, cycles.
import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import { below, closedToFloor, homes } from './homes.mjs'
import { findDisorder, judgePlace, judgeRoom, ordered } from './rooms.mjs'
import { floors } from './sources.mjs'

/** Checks the imports of library files, given as a map of path to imports; returns `{ path, line, text }` findings. */
export function checkImports(files) {
  const findings = []
  for (const text of findDisorder()) findings.push({ path: 'scripts/house/rooms.mjs', line: 1, text })
  for (const [path, imports] of files) {
    const misplaced = judgePlace(path)
    if (misplaced) findings.push({ path, line: 1, text: misplaced })
    for (const found of imports) {
      const text = judge(path, found.specifier, files)
      if (text) findings.push({ path, line: found.line, text })
    }
  }
  return [...findings, ...findCycles(files)]
}

function judge(path, specifier, files) {
  if (specifier.startsWith('.')) return judgeFile(path, specifier, files)
  if (isBuiltin(specifier)) return judgeBuiltin(path, specifier)
  return judgePackage(path, specifier)
}

function judgeFile(path, specifier, files) {
  const target = resolveImport(path, specifier)
  const [from, to] = [floorOf(path), floorOf(target)]
  if (posix.basename(target) === 'index.ts')
    return `imports ${target}: a door for people outside; import the file that defines the name`
  if (!to) return `imports ${target}, which lies outside of the library`
  if (from && from !== to && !below[from].includes(to))
    return `imports ${target}: ${from}/ may import ${listBelow(from)}`
  if (!files.has(target)) return `imports ${target}, which does not exist`
  return judgeRoom(path, target)
}

function judgeBuiltin(path, specifier) {
  const name = specifier.replace(/^node:/, '')
  const closed = closedToFloor[floorOf(path)] ?? []
  if (closed === 'all') return `imports ${specifier}: protocol/ is pure`
  if (closed.includes(name.split('/')[0]))
    return `imports ${specifier}: I/O with the far side lives in transports/`
  return undefined
}

function judgePackage(path, specifier) {
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
  const home = homes.get(name)
  if (!home) return `imports ${name}, a package without a home (scripts/house/homes.mjs)`
  if (!home.test(path.replace(/\.ts$/, ''))) return `imports ${name} outside of its home ${home.source}`
  return undefined
}

function listBelow(floor) {
  return [floor, ...below[floor]].map((name) => `${name}/`).join(', ')
}

function floorOf(path) {
  const top = path.split('/')[0]
  return floors.includes(top) ? top : undefined
}

function resolveImport(path, specifier) {
  return posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts')
}

/**
 * Names every ring of files once. Imports of types leave no trace at run time: they count only on floors that
 * are to be in order.
 */
function findCycles(files) {
  const edges = new Map([...files].map(([path, imports]) => [path, edgesOf(path, imports, files)]))
  const findings = []
  const done = new Set()
  const visit = (path, trail) => {
    const at = trail.indexOf(path)
    if (at >= 0) return void findings.push(describeCycle(trail.slice(at), edges))
    if (done.has(path)) return
    for (const { target } of edges.get(path) ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const path of files.keys()) visit(path, [])
  return findings
}

function edgesOf(path, imports, files) {
  const isOrdered = ordered.includes(floorOf(path))
  return imports
    .filter(({ typeOnly, specifier }) => (isOrdered || !typeOnly) && specifier.startsWith('.'))
    .map(({ specifier, line }) => ({ target: resolveImport(path, specifier), line }))
    .filter(({ target }) => files.has(target))
}

function describeCycle(ring, edges) {
  const [first, second = first] = ring
  const line = edges.get(first).find(({ target }) => target === second)?.line ?? 1
  return { path: first, line, text: `import cycle: ${[...ring, first].join(' -> ')}` }
}
