// second tier: package
// time limit: 120 s
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, join, relative } from 'node:path'
import * as assert from 'uvu/assert'
import {
  copyRepository,
  linkDevelopmentPackage,
  ownFolder,
  type Packed,
  packOnce,
  writeConsumerFile,
} from '../support/packed.js'
import { runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('declarations and maps of the package', { timeout: 60_000 })
// pack.test.ts checks the declarations themselves
const base = {
  module: 'nodenext',
  target: 'es2022',
  types: ['node'],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
}

test('an empty program loads few files of the package', async (t) => {
  const packed = await packOnce(t.signal)
  writeConsumerFile(packed, 'empty.mts', `import 'caduceus'\n`)
  const output = await compile(packed, t.signal, { file: 'empty.mts', flags: ['--listFiles'] })
  const ours = output.split('\n').filter((path) => path.includes('/node_modules/caduceus/'))
  assert.ok(ours.length > 0 && ours.length <= 6, ours.join('\n'))
})

test('a class is the same type from every entry point', async (t) => {
  const packed = await packOnce(t.signal)
  const program = `import * as all from 'caduceus'
import * as client from 'caduceus/client'
import * as protocol from 'caduceus/protocol'
import * as runtime from 'caduceus/runtime'
type Same<A, B> = [A, B] extends [B, A] ? true : false
export const same: readonly true[] = [
  true satisfies Same<all.Client, client.Client>,
  true satisfies Same<all.ClientPool, client.ClientPool>,
  true satisfies Same<all.ClientError, client.ClientError>,
  true satisfies Same<all.Field<string>, protocol.Field<string>>,
  true satisfies Same<all.McpError, protocol.McpError>,
  true satisfies Same<all.Registry, runtime.Registry>,
]
export const one = (given: client.Client): all.Client => given
export const other = (given: all.Client): client.Client => given
`
  writeConsumerFile(packed, 'same.mts', program)
  await compile(packed, t.signal, { file: 'same.mts' })
})

test('the declarations keep their doc comments', async (t) => {
  const packed = await packOnce(t.signal)
  const text = readFileSync(join(installed(packed), 'dist', 'chunks', 'client.d.ts'), 'utf8')
  assert.match(text, /\*\/\n(?:export )?declare class Client\b/)
})

test('no file of the package names a map, which bundlers would look for', async (t) => {
  const packed = await packOnce(t.signal)
  const code = packed.files.filter((path) => /\.(?:js|ts)$/.test(path))
  assert.ok(code.length > 50, `${code.length} files`)
  const naming = code.filter((path) =>
    readFileSync(join(installed(packed), path), 'utf8').includes('sourceMappingURL'),
  )
  assert.equal(naming, [])
})

test('a build with --maps makes the same files, and maps that lead to the sources', async (t) => {
  const packed = await packOnce(t.signal)
  const copy = copyRepository(ownFolder())
  const built = await runNode(['scripts/build.mjs', '--maps'], copy, t.signal)
  assert.is(built.code, 0, built.output)
  const code = packed.files.filter((path) => /^dist\/.*\.(?:js|ts)$/.test(path))
  for (const path of code) {
    const mapped = readFileSync(join(copy, path), 'utf8').replace(/\s*\/\/# sourceMappingURL=\S+\s*$/, '')
    assert.is(mapped, readFileSync(join(installed(packed), path), 'utf8').trimEnd(), path)
    assert.ok(existsSync(join(copy, `${path}.map`)), path)
  }
  const source = 'client/handle/client.ts'
  const expected = [source, lineOf(copy, source, /^export class Client\b/)]
  const ours = /\bClient=class\b|\bclass Client\b/
  const bundles = code.filter((path) => path.endsWith('.js') && lineOf(copy, path, ours) >= 0)
  assert.is(bundles.length, 1)
  for (const path of [...bundles, 'dist/chunks/client.d.ts'])
    assert.equal(origin(copy, path, ours), expected, path)
})

test('a program compiles with each way to resolve modules, also from CommonJS', async (t) => {
  const packed = await packOnce(t.signal)
  const program = `import { field } from 'caduceus'
import { Client } from 'caduceus/client'
export const name: string = [typeof field.string, Client.name].join()
console.log(name)
`
  const required = program.replace(/import (.*) from ('.*')/g, 'import $1 = require($2)')
  const { code, output } = await runNode(
    [
      writeConsumerFile(
        packed,
        'way.cjs',
        program
          .replace(/import (.*) from ('.*')/g, 'const $1 = require($2)')
          .replace('export const name: string', 'const name'),
      ),
    ],
    packed.folder,
    t.signal,
  )
  assert.equal([code, output.trim()], [0, 'function,Client'])
  writeConsumerFile(packed, 'way.mts', program)
  writeConsumerFile(packed, 'way.cts', named(required))
  // TypeScript 5 compiles more of it in pack.test.ts
  const ways = [
    { module: 'node16', moduleResolution: 'node16', file: 'way.mts', compiler: 'typescript5' },
    { module: 'node16', moduleResolution: 'node16', file: 'way.mts', skipLibCheck: false },
    { module: 'nodenext', moduleResolution: 'nodenext', file: 'way.mts' },
    { module: 'nodenext', moduleResolution: 'nodenext', file: 'way.cts' },
    { module: 'esnext', moduleResolution: 'bundler', file: 'way.mts' },
  ]
  for (const { file, compiler, ...options } of ways)
    await compile(packed, t.signal, { file, ...(compiler === undefined ? {} : { compiler }), options })
})

/** `import { a } = require()` is no TypeScript: the module has a name of its own. */
function named(program: string): string {
  return program
    .replace('import { field } = ', 'import all = ')
    .replace('import { Client } = ', 'import client = ')
    .replace('typeof field', 'typeof all.field')
    .replace('Client.name', 'client.Client.name')
}

async function compile(
  packed: Packed,
  signal: AbortSignal,
  {
    file,
    compiler = 'typescript',
    options = {},
    flags = [],
  }: { file: string; compiler?: string; options?: object; flags?: readonly string[] },
): Promise<string> {
  for (const name of ['@types/node', 'undici-types']) linkDevelopmentPackage(packed, name)
  const compilerOptions = { ...base, ...options }
  writeConsumerFile(packed, 'tsconfig.json', JSON.stringify({ compilerOptions, files: [file] }))
  const tsc = inRoot('node_modules', compiler, 'bin', 'tsc')
  const { code, output } = await runNode([tsc, '-p', '.', ...flags], packed.folder, signal)
  assert.is(code, 0, `${compiler}, ${file}, ${JSON.stringify(options)}:\n${output}`)
  return output
}

function installed({ folder }: Packed): string {
  return join(folder, 'node_modules', 'caduceus')
}

/** The first line, counted from 0, that fits; -1 when none does. */
function lineOf(folder: string, path: string, pattern: RegExp): number {
  const lines = readFileSync(join(folder, path), 'utf8').split('\n')
  return lines.findIndex((line) => pattern.test(line))
}

/** The file and the line that the map names for the word `Client` of the line that fits. */
function origin(folder: string, path: string, pattern: RegExp): [string, number] {
  const index = lineOf(folder, path, pattern)
  const line = readFileSync(join(folder, path), 'utf8').split('\n')[index] ?? ''
  const found = pattern.exec(line)
  const column = line.indexOf('Client', found?.index)
  const map = new SourceMap(JSON.parse(readFileSync(join(folder, `${path}.map`), 'utf8')))
  const entry = map.findEntry(index, column)
  if (!('originalSource' in entry)) throw new Error(`${path}:${index} leads nowhere`)
  return [relative('.', join(dirname(path), entry.originalSource)), entry.originalLine]
}

test.run()
