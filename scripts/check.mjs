// npm run check: the rules of the house, the types, lint and format. Prints every problem as file:line and exits 1 if there is one.
//   node scripts/check.mjs [--fix] [--only house,types,style] [--root folder] [file or folder ...]
// With files or folders only their problems count (the imports and types of everything are still read).
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { checkApi } from './house/api-digest.mjs'
import { checkChance } from './house/chance.mjs'
import { checkDoors } from './house/doors.mjs'
import { checkErrorIndex } from './house/error-index.mjs'
import { checkImports } from './house/floors.mjs'
import { checkName, checkText } from './house/names.mjs'
import { checkMachines } from './house/machines.mjs'
import { checkPage } from './house/page.mjs'
import { isLibrary, listFiles, repository } from './house/sources.mjs'
import { readSyntax } from './house/syntax.mjs'
import { checkTestNames } from './house/test-names.mjs'
import { mirror } from './house/transpile.mjs'
import { createTypeNames } from './house/type-names.mjs'

const textFiles = /\.(?:ts|mjs|json|md|yml)$|(?:^|\/)(?:\.gitignore|run)$/
/** Garbage is collected less often than a program of Go does by itself: memory is there, time is not. */
const collectsLess = { GOGC: '400' }
const checks = { house: checkHouse, types: checkTypes, style: checkStyle }

process.exitCode = await main()

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      fix: { type: 'boolean', default: false },
      only: { type: 'string', default: Object.keys(checks).join(',') },
      root: { type: 'string', default: repository },
    },
  })
  const root = resolve(values.root)
  const names = values.only.split(',')
  const unknown = names.find((name) => !Object.hasOwn(checks, name))
  if (unknown !== undefined) {
    console.error(`--only: expected some of ${Object.keys(checks).join(', ')}, got ${unknown}`)
    return 2
  }
  const scope = positionals.map((path) => path.replace(/^\.\//, '').replace(/\/$/, ''))
  const results = await Promise.all(names.map((name) => checks[name](root, scope, values.fix)))
  names.forEach((name, index) => {
    const { problems, text } = results[index]
    if (text) console.log(text)
    console.log(`check ${name}: ${problems === 0 ? 'ok' : `${problems} problem${problems > 1 ? 's' : ''}`}`)
  })
  return results.some(({ problems }) => problems > 0) ? 1 : 0
}

async function checkHouse(root, scope) {
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

async function checkTypes(root, scope) {
  // what runs in a browser knows other globals
  const projects = ['tsconfig.json', 'transports/view/page/tsconfig.json'].filter((path) =>
    existsSync(join(root, path)),
  )
  const outputs = await Promise.all(projects.map((project) => typeErrors(root, project)))
  const wanted = outputs
    .flat()
    .filter((error) => !/^\S+:\d+:\d+ /.test(error) || inScope(error.split(':')[0], scope))
  return { problems: wanted.length, text: wanted.join('\n') }
}

async function typeErrors(root, project) {
  // what the last check has found is kept: what has changed since then, and what depends on it, is checked anew
  const known = join(root, mirror, 'types', `${project.replaceAll('/', '.')}.tsbuildinfo`)
  const args = ['-p', project, '--noEmit', '--pretty', 'false', '--incremental', '--tsBuildInfoFile', known]
  const { code, output } = await run(root, 'typescript/bin/tsc', args, collectsLess)
  if (code === 0) return []
  // An error starts at the margin; the lines that explain it are indented.
  return output
    .trim()
    .split(/\n(?=\S)/)
    .map((error) => error.replace(/^(\S+)\((\d+),(\d+)\): /, '$1:$2:$3 '))
}

async function checkStyle(root, scope, fix) {
  const config = join(repository, 'scripts', 'biome.json')
  const options = [
    '--colors=off',
    '--max-diagnostics=none',
    `--config-path=${config}`,
    ...(fix ? ['--write'] : []),
  ]
  const { code, output } = await run(root, '@biomejs/biome/bin/biome', [
    'check',
    ...options,
    ...(scope.length ? scope : ['.']),
  ])
  if (code === 0) return { problems: 0, text: '' }
  return { problems: Number(/^Found (\d+) errors?/m.exec(output)?.[1] ?? 1), text: output.trim() }
}

function inScope(path, scope) {
  return scope.length === 0 || scope.some((part) => path === part || path.startsWith(`${part}/`))
}

function run(root, bin, args, env = {}) {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [join(repository, 'node_modules', bin), ...args], {
      cwd: root,
      env: { ...process.env, ...env },
    })
    const chunks = []
    child.stdout.on('data', (chunk) => chunks.push(chunk))
    child.stderr.on('data', (chunk) => chunks.push(chunk))
    child.once('error', fail)
    child.once('close', (code) => done({ code, output: Buffer.concat(chunks).toString() }))
  })
}
