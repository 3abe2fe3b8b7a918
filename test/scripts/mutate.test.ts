// second tier: time
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import { makeProject, runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'
import { file } from './fixture.js'

const test = suite('mutants', { timeout: 20_000 })

const source = `export async function read(options, { limit = 5, name = 'x' } = {}) {
  if (limit < 1 || name === '') throw new TypeError('BAD_OPTION')
  const timer = setTimeout(end, limit)
  try {
    note(name)
    return { data: await options.load(), isKept: false }
  } finally {
    clearTimeout(timer)
  }
}
`

const urlOf = (...path: string[]): string => pathToFileURL(inRoot('scripts', ...path)).href
const { addSwitches } = (await import(urlOf('mutate', 'schema.mjs'))) as {
  addSwitches(order: object): { readonly code: string; readonly mutants: readonly Mutant[] }
}
const { nextTests } = (await import(urlOf('mutate', 'rounds.mjs'))) as {
  nextTests(order: object): Iterable<readonly [path: string, tests: readonly { readonly key: string }[]]>
}
const { listTests } = (await import(urlOf('mutate', 'reach.mjs'))) as {
  listTests(room: string, given: readonly string[]): Readonly<Record<'near' | 'far', readonly Listed[]>>
}
const { judge } = (await import(urlOf('mutate', 'report.mjs'))) as {
  judge(order: object): Readonly<Record<string, number>>
}
const { limitsOf, tryMutant } = (await import(urlOf('mutate', 'trial.mjs'))) as {
  limitsOf(tests: Readonly<Record<string, { readonly ms: number }>>): object
  tryMutant(order: object): Promise<Verdict>
}
const { prepareCopy, startWorker } = (await import(urlOf('mutate', 'worker.mjs'))) as {
  prepareCopy(copy: string, files: readonly (readonly [path: string, code: string])[]): void
  startWorker(order: object): { end(): Promise<void> }
}
const { transpile } = (await import(urlOf('house', 'transpile.mjs'))) as {
  transpile(root: string): Promise<unknown>
}

async function runProgram(t: TestContext, program: string): Promise<unknown> {
  const { code, output } = await runNode(['--input-type=module', '-e', program], inRoot(), t.signal)
  assert.is(code, 0, output)
  return JSON.parse(output.trim().split('\n').at(-1) ?? '')
}

const told = ({ operator, start, end, text }: Mutant) => [
  operator,
  source.slice(start, end).split('\n')[0],
  text,
]

interface Mutant {
  readonly number: number
  readonly operator: string
  readonly start: number
  readonly end: number
  readonly text: string
  /** Whether it is in code that runs as its module loads. */
  readonly isTop: boolean
}

interface Listed {
  readonly path: string
  readonly tier: string
}

test('each operator finds its places, and changes nothing else', () => {
  const order = { path: 'a.js', source, first: 1, from: './switch.mjs' }
  const { mutants } = addSwitches(order)
  assert.equal(mutants.map(told), [
    ['default', '5', '(5 * 2 + 1)'],
    ['default', "'x'", "''"],
    ['condition', "limit < 1 || name === ''", "!(limit < 1 || name === '')"],
    ['guard', "if (limit < 1 || name === '') throw new TypeError('BAD_OPTION')", ';'],
    ['logic', '||', '&&'],
    ['boundary', '<', '<='],
    ['constant', '1', '(1 * 2 + 1)'],
    ['equality', '===', '!=='],
    ['code', "'BAD_OPTION'", "'BAD_OPTION_MUTATED'"],
    ['finally', '{', '{}'],
    ['call', 'note(name)', ';'],
    ['await', 'await options.load()', '(options.load())'],
    ['constant', 'false', 'true'],
    ['undo', 'clearTimeout(timer)', ';'],
  ])
  assert.equal(
    mutants.map(({ number }) => number),
    mutants.map((_, index) => index + 1),
  )
})

test('a switch turns one change on, and none by itself', async (t) => {
  const small = `export function size(list, most = 3) {
  if (list.length > most && most !== 0) return 'TOO_LONG'
  return { 'NOT_KEPT': list.length < 2 ? true : 0 }
}
`
  const results = (await runProgram(
    t,
    `import { addSwitches } from ${JSON.stringify(urlOf('mutate', 'schema.mjs'))}
    const state = globalThis[Symbol.for('caduceus mutant')] = { on: 0 }
    const { code, mutants } = addSwitches({ path: 'a.js', source: ${JSON.stringify(small)}, first: 7, from: ${JSON.stringify(urlOf('mutate', 'switch.mjs'))} })
    const { size } = await import('data:text/javascript,' + encodeURIComponent(code))
    const run = (on) => {
      state.on = on
      return [size([1]), size([1, 2], 5), size([1, 2, 3, 4, 5, 6], 5)]
    }
    const lines = code.split('\\n').findIndex((line) => line.startsWith('  return {'))
    console.log(JSON.stringify({ lines, none: run(0), all: mutants.map(({ number, operator }) => [operator, run(number)]) }))`,
  )) as { lines: number; none: unknown; all: [string, unknown[]][] }
  const none = [{ NOT_KEPT: true }, { NOT_KEPT: 0 }, 'TOO_LONG']
  assert.equal(results.none, none)
  assert.is(results.lines, 2)
  const changed = results.all.filter(([, values]) => JSON.stringify(values) !== JSON.stringify(none))
  const unseen = results.all.filter((one) => !changed.includes(one)).map(([operator]) => operator)
  assert.equal(unseen, ['default', 'boundary', 'constant'])
  assert.equal(results.all.find(([operator]) => operator === 'code')?.[1][2], 'TOO_LONG_MUTATED')
})

test('quick tests come first, and those before them that kill', () => {
  const reaching = [
    { key: 'slow', path: 'a', ms: 2_000, index: 0 },
    { key: 'quick', path: 'a', ms: 10, index: 1 },
    { key: 'kills', path: 'b', ms: 40, index: 0 },
  ]
  const order = (budget: number, tried: string[]) => {
    const kills = new Map([['kills', 3]])
    const next = nextTests({ reaching, tried: new Set(tried), kills, budget })
    return [...next].map(([path, tests]) => [path, ...tests.map(({ key }) => key)])
  }
  assert.equal(order(30, []), [['b', 'kills']])
  assert.equal(order(200, []), [
    ['b', 'kills'],
    ['a', 'quick'],
  ])
  assert.equal(order(1e9, ['kills']), [['a', 'slow', 'quick']])
  assert.equal(order(30, ['kills', 'quick']), [['a', 'slow']])
})

test('tests of other rooms are looked at where they name the room', () => {
  const { near, far } = listTests('server/gateway', [])
  assert.ok(near.some(({ path }) => path === 'test/server/gateway/gate.test.ts'))
  assert.ok(near.some(({ path }) => path.startsWith('test/flows/gateway/')))
  assert.ok(far.length > 0)
  for (const { path, tier } of far) {
    assert.is(tier, 'fast', path)
    assert.match(readFileSync(inRoot(path), 'utf8'), /gateway/i, path)
    assert.not(/^test\/(?:runtime|protocol|transports)\//.test(path), path)
  }
})

interface Verdict {
  readonly killed: boolean
  readonly by?: string
  readonly unsure: string[]
}

/** What the tests of a file say of a library that says 2 instead of 1. */
async function judgeMutant(
  t: TestContext,
  text: string,
  names: string[],
  { top = false, patience = 8 } = {},
): Promise<Verdict> {
  const library = top
    ? 'export const value = 1\nexport const one = () => value\n'
    : 'export const one = () => 1\nexport const two = () => 2\n'
  const mine = ['host.mjs', 'switch.mjs'].map((name) => [
    `scripts/mutate/${name}`,
    readFileSync(inRoot('scripts', 'mutate', name), 'utf8'),
  ])
  const project = makeProject(t, {
    'runtime/one.mjs': library,
    'test/a.test.ts': text.replace('../support', './support'),
    ...Object.fromEntries(mine),
  })
  const before = process.env.CADUCEUS_TEST_PATIENCE
  t.after(() => {
    if (before === undefined) delete process.env.CADUCEUS_TEST_PATIENCE
    else process.env.CADUCEUS_TEST_PATIENCE = before
  })
  process.env.CADUCEUS_TEST_PATIENCE = String(patience)
  await transpile(project)
  const from = '../scripts/mutate/switch.mjs'
  const { code, mutants } = addSwitches({ path: 'runtime/one.mjs', source: library, first: 1, from })
  prepareCopy(project, [['runtime/one.mjs', code]])
  const { signal } = t
  const worker = startWorker({ copy: project, folder: join(project, 'run'), signal })
  const limits = limitsOf(Object.fromEntries(names.map((name) => [name, { ms: 1 }])))
  const mutant = { ...mutants[0], isLoaded: mutants[0]?.isTop }
  try {
    const verdict = await tryMutant({ worker, mutant, path: 'test/a.test.ts', names, limits, signal })
    return JSON.parse(JSON.stringify(verdict))
  } finally {
    await worker.end()
  }
}

const noticing = "test('is one', () => { if (one() !== 1) throw new Error('it is ' + one()) })"
const imports = "import { one } from '../runtime/one.mjs'"
const holds = "test('holds', () => {})"

test('a mutant that a test notices each time is killed by it', async (t) => {
  const text = file(`${imports}\n${holds}\n${noticing}`)
  const names = ['fixture: holds', 'fixture: is one']
  assert.equal(await judgeMutant(t, text, names), { killed: true, by: 'fixture: is one', unsure: [] })
})

test('a mutant in code that runs as a module loads is tried in a new process', async (t) => {
  const text = file(`${imports}\n${noticing}`)
  const names = ['fixture: is one']
  assert.equal(await judgeMutant(t, text, names, { top: true }), {
    killed: true,
    by: 'fixture: is one',
    unsure: [],
  })
})

test('a test that fails once does not kill a mutant, and those after it are tried', async (t) => {
  const flaky = file(`import { existsSync, writeFileSync } from 'node:fs'
    ${imports}
    test('holds the second time', () => {
      const isFirst = !existsSync('seen')
      writeFileSync('seen', '')
      if (isFirst) throw new Error('not yet')
    })
    ${noticing}`)
  const names = ['fixture: holds the second time', 'fixture: is one']
  assert.equal(await judgeMutant(t, flaky, names), { killed: true, by: 'fixture: is one', unsure: [] })
  assert.equal(await judgeMutant(t, flaky, names.slice(0, 1)), { killed: false, unsure: [] })
})

test('a test that fails without the mutant as well kills nothing', async (t) => {
  const text = file("test('fails', () => { throw new Error('always') })")
  assert.equal(await judgeMutant(t, text, ['fixture: fails']), { killed: false, unsure: ['fixture: fails'] })
})

test('a test that hangs, or ends its process, kills a mutant', async (t) => {
  const hangs = { patience: 1 }
  const dies = file(`${imports}\ntest('dies', () => { if (one() !== 1) process.exit(0) })`)
  assert.ok((await judgeMutant(t, dies, ['fixture: dies'], hangs)).killed)
  const waits = file(`${imports}\ntest('waits', () => one() === 1 ? 1 : new Promise(() => {}))`)
  assert.ok((await judgeMutant(t, waits, ['fixture: waits'], hangs)).killed)
  const spins = file(`${imports}\ntest('spins', () => { while (one() !== 1); })`)
  assert.ok((await judgeMutant(t, spins, ['fixture: spins'], hangs)).killed)
})

test('what a mutant leaves behind kills it', async (t) => {
  const text = file(`${imports}\ntest('leaves', () => { if (one() !== 1) setInterval(() => {}, 1_000) })`)
  assert.ok((await judgeMutant(t, text, ['fixture: leaves'])).killed)
})

test('a mutant is on in programs that tests start', async (t) => {
  const url = "new URL('../runtime/one.mjs', import.meta.url).href"
  const text = file(`import { once } from 'node:events'
    test('starts', async () => {
      const program = 'import { one } from ' + JSON.stringify(${url}) + '; process.exit(one())'
      const child = spawn(process.execPath, ['--input-type=module', '-e', program], { env: {} })
      const [code] = await once(child, 'exit')
      if (code !== 1) throw new Error('it is ' + code)
    })`)
  assert.ok((await judgeMutant(t, text, ['fixture: starts'])).killed)
})

test('what is not decided is not killed, and what is judged equal counts neither way', () => {
  const { path, operator, line } = JSON.parse(
    readFileSync(inRoot('scripts', 'mutate', 'equivalent.json'), 'utf8'),
  )[0]
  const results = [
    { outcome: 'killed', operator },
    { outcome: 'undecided', operator },
    { outcome: 'unreached', operator },
    { outcome: 'survived', path, operator, within: line },
  ]
  const order = { room: 'a', results, notMade: 2, minutes: 1.26, load: [1, 2] }
  const report = judge(order)
  const { mutants, killed, survived, undecided, equivalent, notMade, share } = report
  assert.equal([mutants, killed, survived, undecided, equivalent, notMade], [4, 1, 1, 1, 1, 2])
  assert.is(share, 33.3)
})

test('what is judged to change nothing stands where the list says', () => {
  const text = readFileSync(inRoot('scripts', 'mutate', 'equivalent.json'), 'utf8')
  const judged = JSON.parse(text) as readonly { readonly path: string; readonly line: string }[]
  const stale = judged.filter(({ path, line }) => {
    if (!existsSync(inRoot(path))) return true
    return !readFileSync(inRoot(path), 'utf8')
      .split('\n')
      .some((one) => one.trim() === line)
  })
  assert.ok(judged.length > 0)
  assert.equal(stale, [])
})

test.run()
