import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import { type Outcome, run, runNode } from './project.js'
import { runFolder } from './report.js'
import { inRoot } from './root.js'

/** The package as a stranger has it: packed, and installed into an empty folder. */
export type Packed = {
  /** The folder with `node_modules/caduceus`; programs written here import the package by name. */
  readonly folder: string
  readonly tarball: string
  /** The paths inside the tarball. */
  readonly files: readonly string[]
}

const sources = ['runtime', 'protocol', 'transports', 'server', 'client', 'command', 'test', 'scripts']
const singles = [
  'index.ts',
  'testing.ts',
  'otel.ts',
  'openapi.ts',
  'fetch.ts',
  'package.json',
  'tsconfig.json',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
]
const once: { packed?: Promise<Packed> } = {}

/**
 * Packs a copy of the repository (so that `dist/` of the repository stays as it is) and installs the tarball without any install
 * script. The first test file of a run does the work, which takes some 20 s; the others get a copy of its folder. `signal` ends
 * that work.
 */
export function packOnce(signal: AbortSignal): Promise<Packed> {
  once.packed ??= runFolder === undefined ? packInto(ownFolder(), signal) : packOfRun(runFolder, signal)
  return once.packed
}

/** The folder appears when the package is whole, so that nobody sees half of it. */
async function packOfRun(run: string, signal: AbortSignal): Promise<Packed> {
  const whole = join(run, 'packed')
  const half = join(run, 'packing')
  while (!existsSync(whole)) {
    if (!makeFolder(half)) {
      await pause(100, undefined, { signal })
      continue
    }
    try {
      const { tarball, files } = await packInto(half, signal)
      writeFileSync(join(half, 'report.json'), JSON.stringify({ tarball: basename(tarball), files }))
      renameSync(half, whole)
    } finally {
      rmSync(half, { recursive: true, force: true })
    }
  }
  const { tarball, files } = JSON.parse(readFileSync(join(whole, 'report.json'), 'utf8'))
  const folder = join(ownFolder(), 'consumer')
  cpSync(join(whole, 'consumer'), folder, { recursive: true, verbatimSymlinks: true })
  return { folder, tarball: join(whole, tarball), files }
}

/** A folder that is removed when the process ends. */
export function ownFolder(): string {
  const place = mkdtempSync(join(tmpdir(), 'packed-'))
  process.once('exit', () => rmSync(place, { recursive: true, force: true }))
  return place
}

function makeFolder(path: string): boolean {
  try {
    mkdirSync(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Writes a file of the consumer, e.g. a program that imports the package, and returns its path. */
export function writeConsumerFile({ folder }: Packed, path: string, text: string): string {
  writeFileSync(join(folder, path), text)
  return join(folder, path)
}

/** Gives the consumer a development dependency of the repository, for types or tools; the package itself never sees it. */
export function linkDevelopmentPackage({ folder }: Packed, name: string): void {
  const target = join(folder, 'node_modules', name)
  mkdirSync(join(target, '..'), { recursive: true })
  if (existsSync(target)) return
  symlinkSync(inRoot('node_modules', name), target)
}

/** Writes a program of the repository into the consumer, as JavaScript, and returns its path. */
export function writeProgram(packed: Packed, path: string): string {
  const { code } = transformSync(readFileSync(inRoot(path)), {
    loader: 'ts',
    format: 'esm',
    target: 'node20.19',
  })
  return writeConsumerFile(packed, basename(path).replace(/\.ts$/, '.mjs'), code)
}

/** What a program has loaded. */
interface Loads {
  /** Packages besides caduceus itself. */
  readonly packages: readonly string[]
  /** Bytes of the files of caduceus. */
  readonly bytes: number
}

/** Runs a consumer's program and tells what it loaded. */
export async function runAndListPackages(
  { folder }: Packed,
  args: readonly string[],
  signal: AbortSignal,
  input = '',
): Promise<Outcome & Loads> {
  const list = join(mkdtempSync(join(tmpdir(), 'loads-')), 'list')
  writeFileSync(list, '')
  const outcome = await runNode(['--import', loadRecorder(list), ...args], folder, signal, input)
  const urls = readFileSync(list, 'utf8').split('\n')
  const names = urls.map((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1])
  const packages = new Set(names.filter((name) => name !== undefined && name !== 'caduceus'))
  const ours = new Set(urls.filter((url) => url.includes('/node_modules/caduceus/')))
  const bytes = [...ours].reduce((sum, url) => sum + statSync(fileURLToPath(url)).size, 0)
  return { ...outcome, bytes, packages: [...packages].map(String).sort() }
}

async function packInto(place: string, signal: AbortSignal): Promise<Packed> {
  const copy = copyRepository(place)
  const packed = await npm(['pack', '--json', '--pack-destination', place], copy, signal)
  const { filename, files } = readPackReport(packed.output)
  const folder = join(place, 'consumer')
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const tarball = join(place, filename)
  await npm(
    ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', tarball],
    folder,
    signal,
  )
  return { folder, tarball, files }
}

/** A copy of what is needed to build; returns its path. */
export function copyRepository(place: string): string {
  const copy = join(place, 'copy')
  // documents of large APIs, which `scripts/openapi` installs, are hundreds of MB
  const filter = (path: string): boolean => !path.includes('node_modules', inRoot().length)
  for (const name of [...sources, ...singles])
    cpSync(inRoot(name), join(copy, name), { recursive: true, filter })
  symlinkSync(inRoot('node_modules'), join(copy, 'node_modules'))
  return copy
}

async function npm(args: readonly string[], cwd: string, signal: AbortSignal): Promise<Outcome> {
  const outcome = await run('npm', args, cwd, signal)
  if (outcome.code !== 0)
    throw new Error(`npm ${args.join(' ')} ended with ${outcome.code}\n${outcome.output}`)
  return outcome
}

/** The report comes after what `prepack` prints; a tarball of one package is an array of one, or an object by name. */
function readPackReport(output: string): { filename: string; files: string[] } {
  const start = output.search(/^[[{]\s*$/m)
  const end = output.search(/^[\]}]\s*$/m)
  const report: unknown = JSON.parse(output.slice(start, end + 1))
  const [entry] = Object.values(report as Record<string, { filename: string; files: { path: string }[] }>)
  if (entry === undefined) throw new Error(`npm pack --json: expected one package, got ${output}`)
  return { filename: entry.filename, files: entry.files.map(({ path }) => path) }
}

/** A module hook, as a data: URL, that notes the URL of every module that is loaded. */
function loadRecorder(list: string): string {
  const hooks = `import { appendFileSync } from 'node:fs'
export async function load(url, context, next) {
  appendFileSync(${JSON.stringify(list)}, url + '\\n')
  return next(url, context)
}`
  const hooksUrl = `data:text/javascript,${encodeURIComponent(hooks)}`
  const register = `import { register } from 'node:module'; register(${JSON.stringify(hooksUrl)})`
  return `data:text/javascript,${encodeURIComponent(register)}`
}
