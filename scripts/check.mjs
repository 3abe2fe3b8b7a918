// npm run check: the rules of the house, the types, lint and format. Prints every problem as file:line and exits 1 if there is one.
//   node scripts/check.mjs [--fix] [--only house,types,style] [--root folder] [file or folder ...]
// With files or folders only their problems count (the imports and types of everything are still read).
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { checkHouse, inScope } from './house/check-house.mjs'
import { repository } from './house/sources.mjs'
import { mirror } from './house/transpile.mjs'

/** Garbage is collected less often than a program of Go does by itself: memory is there, time is not. */
const collectsLess = { GOGC: '400' }
/** More checkers than cores do the same work several times. */
const checkers = String(Math.min(4, availableParallelism()))
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
  const args = ['-p', project, '--noEmit', '--pretty', 'false', '--checkers', checkers]
  args.push('--incremental', '--tsBuildInfoFile', known)
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
    '--diagnostic-level=error',
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
