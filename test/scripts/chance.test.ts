import { existsSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('the check of time and chance', { timeout: 20_000 })

interface Exception {
  readonly at: string
  readonly sources: 'all' | readonly string[]
}

const { checkChance } = (await import(inRoot('scripts/house/chance.mjs'))) as {
  checkChance(path: string, file: unknown, exceptions: readonly Exception[]): { line: number; text: string }[]
}
const { readSyntax } = (await import(inRoot('scripts/house/syntax.mjs'))) as {
  readSyntax(path: string, text: string, inLibrary: boolean): { readonly file: unknown }
}
const { exceptions } = (await import(inRoot('scripts/house/chance-exceptions.mjs'))) as {
  exceptions: readonly Exception[]
}

/** The sources that a text uses, in order. */
function sourcesIn(text: string, excepted: readonly Exception[] = [], path = 'runtime/a.ts'): string[] {
  const { file } = readSyntax(path, text, false)
  return checkChance(path, file, excepted).map((found) => found.text.split(': ')[0] ?? '')
}

const sources: Readonly<Record<string, readonly string[]>> = {
  'Date.now()': ['Date.now'],
  'new Date()': ['new Date()'],
  'new Date': ['new Date()'],
  'Date()': ['Date'],
  'const D = Date': ['Date'],
  'const { now } = Date': ['Date.now'],
  "Date['now']()": ['Date.now'],
  'list.map(Date.now)': ['Date.now'],
  'performance.now()': ['performance.now'],
  'setTimeout(fn, 1)': ['setTimeout'],
  'setInterval(fn, 1)': ['setInterval'],
  'setImmediate(fn)': ['setImmediate'],
  'clearTimeout(timer)': ['clearTimeout'],
  'queueMicrotask(fn)': ['queueMicrotask'],
  'const later = setTimeout': ['setTimeout'],
  'promisify(setTimeout)': ['setTimeout'],
  'const world = { setTimeout }': ['setTimeout'],
  'const f = (wait = setTimeout) => wait': ['setTimeout'],
  'process.nextTick(fn)': ['process.nextTick'],
  'process.hrtime.bigint()': ['process.hrtime'],
  'process.uptime()': ['process.uptime'],
  'const { nextTick: soon } = process': ['process.nextTick'],
  '(process as Some).hrtime()': ['process.hrtime'],
  'Math.random()': ['Math.random'],
  'const { random } = Math': ['Math.random'],
  'const { floor, random: draw } = Math': ['Math.random'],
  'const m = Math': ['Math'],
  'Math[name]()': ['Math'],
  'AbortSignal.timeout(5)': ['AbortSignal.timeout'],
  'crypto.randomUUID()': ['crypto.randomUUID'],
  'crypto.getRandomValues(bytes)': ['crypto.getRandomValues'],
  'globalThis.setTimeout(fn, 1)': ['setTimeout'],
  "globalThis['setTimeout'](fn, 1)": ['setTimeout'],
  'globalThis.Date.now()': ['Date'],
  'global.queueMicrotask(fn)': ['queueMicrotask'],
  'const { setTimeout: wait } = globalThis': ['setTimeout'],
  'const all = globalThis': ['globalThis'],
  'new WeakRef(value)': ['new WeakRef()'],
  'new FinalizationRegistry(fn)': ['new FinalizationRegistry()'],
  "import { setTimeout as pause } from 'node:timers/promises'\npause(1)": ['setTimeout'],
  "import { setImmediate } from 'timers'\nsetImmediate(fn)": ['setImmediate'],
  "import * as timers from 'node:timers'": ['node:timers'],
  "import { performance } from 'node:perf_hooks'": ['performance'],
  "import { randomBytes as bytes, createHash } from 'node:crypto'": ['randomBytes'],
  "import { randomUUID } from 'crypto'": ['randomUUID'],
  "import { webcrypto } from 'node:crypto'": ['webcrypto'],
  "import crypto from 'node:crypto'": ['node:crypto'],
  "import * as crypto from 'node:crypto'": ['node:crypto'],
  "import { hrtime } from 'node:process'": ['hrtime'],
  "import { nanoid as id } from 'nanoid'": ['nanoid'],
  "export { setTimeout } from 'node:timers/promises'": ['setTimeout'],
  "export * from 'node:timers'": ['node:timers'],
  "const { setTimeout: pause } = await import('node:timers/promises')": ['setTimeout'],
  "(await import('node:crypto')).randomBytes(4)": ['randomBytes'],
  "require('node:timers').setTimeout(fn)": ['setTimeout'],
  "const { randomBytes } = process.getBuiltinModule('node:crypto')": ['randomBytes'],
  'systemWorld.now()': ['systemWorld'],
  'const limits = { clock: systemClock }': ['systemClock'],
  "import { setTimeout as s } from './other.js'\nfunction f(setTimeout) {}\nsetTimeout(fn)": ['setTimeout'],
}

test('every spelling of a source of time or chance is found', () => {
  for (const [text, expected] of Object.entries(sources)) assert.equal(sourcesIn(text), expected, text)
})

const harmless = [
  '// Date.now() and setTimeout(fn)',
  '/** Calls `Math.random`: {@link setTimeout} */\nconst a = 1',
  'const text = "Date.now()" + `setTimeout() Math.random()`',
  'clock.setTimeout(fn, 1); world.random(); this.#world.date(); socket.setTimeout(5)',
  'new Date(value); new Date(value).toISOString(); Date.parse(text); Date.UTC(1970)',
  'value instanceof Date',
  'Math.max(1, 2)',
  'AbortSignal.any([one]); AbortSignal.abort(); signal instanceof AbortSignal',
  'const { setTimeout, now } = clock\nsetTimeout(fn, now())',
  'function f({ setTimeout, random: queueMicrotask }) { setTimeout(queueMicrotask) }',
  'for (const setTimeout of all) setTimeout()',
  'try {} catch (performance) { performance.now() }',
  'const world = { setTimeout(fn) { return fn }, setImmediate: 1, get performance() { return 1 } }',
  'class A { setTimeout = 1; static random() {} }',
  'interface World { setTimeout(fn: typeof setTimeout): Date; at: WeakRef<object> }',
  'let timer: ReturnType<typeof setTimeout>',
  "import type { webcrypto } from 'node:crypto'\nimport { type randomBytes, createHash } from 'node:crypto'",
  "const { createPrivateKey } = process.getBuiltinModule('node:crypto')",
  '(globalThis as { [key]?: Shared })[key]',
  'process.pid; process.on("exit", fn); const { stdout } = process; const one = process.argv',
  'const f = (world = systemWorld) => world; const g = ({ clock = systemClock }) => clock ?? systemClock',
  'export { systemClock } from "./time/clock.js"',
  'const f = ({ now = systemWorld.now }) => (now ?? systemWorld.date)()',
]

test('comments, strings, types, local names and members are no source', () => {
  for (const text of harmless) assert.equal(sourcesIn(text), [], text)
})

test('an exception covers its file and sources, and an unused one is refused', () => {
  const excepted = [
    { at: 'runtime/a.ts', sources: ['Date.now'] },
    { at: 'server/', sources: 'all' as const },
  ]
  assert.equal(sourcesIn('Date.now()', excepted), [])
  assert.equal(sourcesIn('Date.now(); Math.random()', excepted), ['Math.random'])
  assert.equal(sourcesIn('Date.now()', excepted, 'runtime/b.ts'), ['Date.now'])
  assert.equal(sourcesIn('Date.now()', excepted, 'server/b/c.ts'), [])
  const { file } = readSyntax('runtime/a.ts', 'const a = 1', false)
  const [unused] = checkChance('runtime/a.ts', file, excepted)
  assert.match(unused?.text ?? '', /^Date\.now: allowed in .*, not used$/)
})

test('each exception names an existing file', () => {
  for (const { at } of exceptions) assert.ok(existsSync(inRoot(at)), at)
})

test.run()
