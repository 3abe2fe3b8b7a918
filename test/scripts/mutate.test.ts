// second tier: time
import { existsSync, readFileSync } from 'node:fs'
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
    return await options.load()
  } finally {
    clearTimeout(timer)
  }
}
`

/** Runs a module of the mutation runner on a value and reads what it answers. */
async function ask(t: TestContext, file: string, call: string): Promise<unknown> {
  const url = pathToFileURL(inRoot('scripts', 'mutate', file)).href
  const program = `const m = await import(${JSON.stringify(url)}); console.log(JSON.stringify(${call}))`
  const { code, output } = await runNode(['--input-type=module', '-e', program], inRoot(), t.signal)
  assert.is(code, 0, output)
  return JSON.parse(output)
}

test('each operator finds its places, and changes nothing else', async (t) => {
  const found = (await ask(t, 'operators.mjs', `m.listMutants('a.js', ${JSON.stringify(source)})`)) as {
    operator: string
    start: number
    end: number
    text: string
  }[]
  assert.equal(
    found.map(({ operator, start, end, text }) => [operator, source.slice(start, end).split('\n')[0], text]),
    [
      ['default', '5', '(5 * 2 + 1)'],
      ['default', "'x'", "''"],
      ['condition', "limit < 1 || name === ''", "!(limit < 1 || name === '')"],
      ['guard', "if (limit < 1 || name === '') throw new TypeError('BAD_OPTION')", ';'],
      ['logic', '||', '&&'],
      ['boundary', '<', '<='],
      ['equality', '===', '!=='],
      ['code', "'BAD_OPTION'", "'BAD_OPTION_MUTATED'"],
      ['finally', '{', '{}'],
      ['call', 'note(name)', ';'],
      ['await', 'await options.load()', '(options.load())'],
      ['undo', 'clearTimeout(timer)', ';'],
    ],
  )
})

test('a seed picks the same mutants each time, and the operators take turns', async (t) => {
  const mutants = Array.from({ length: 40 }, (_, line) => ({
    floor: 'runtime',
    operator: line < 36 ? 'condition' : 'await',
    path: 'runtime/a.ts',
    line,
  }))
  const options = { floor: ['runtime'], operator: ['condition', 'await'], count: 8, at: [] }
  const pick = (seed: number) =>
    ask(
      t,
      'pick.mjs',
      `m.pickMutants(${JSON.stringify([{ mutants }])}, ${JSON.stringify({ ...options, seed })})`,
    ) as Promise<{ operator: string; line: number }[]>
  const [one, again, other] = await Promise.all([pick(1), pick(1), pick(2)])
  const lines = (picked: readonly { line: number }[]) => picked.map(({ line }) => line)
  assert.equal(lines(one), lines(again))
  assert.not.equal(lines(one), lines(other))
  assert.is(one.filter(({ operator }) => operator === 'await').length, 4)
})

/** What the tests of a small project say of a library that says 2 instead of 1. */
async function judgeMutant(t: TestContext, tests: Record<string, string>): Promise<unknown> {
  const modules = { 'runtime/one.mjs': 'export const one = 1\n', ...tests }
  const project = makeProject(t, modules)
  const paths = Object.keys(tests).map((path) => ({ path }))
  const program = `
    import { mirror, outputPath, transpile } from ${JSON.stringify(urlOf('house', 'transpile.mjs'))}
    import { runMutant } from ${JSON.stringify(urlOf('mutate', 'run-mutant.mjs'))}
    const [copy, tests] = ${JSON.stringify([project, paths])}
    await transpile(copy)
    const inMirror = (path) => (root) => root + '/' + mirror + '/' + outputPath(path)
    const source = ${JSON.stringify(modules['runtime/one.mjs'])}
    const start = source.indexOf('1')
    const file = { inMirror: inMirror('runtime/one.mjs'), source }
    const outcome = await runMutant({
      mutant: { key: 'one', floor: 'runtime', file, start, end: start + 1, text: '2' },
      tests: tests.map(({ path }) => ({ path, inMirror: inMirror(path) })),
      places: new Map(tests.map(({ path }, ms) => [path, { ms, failed: false, executed: new Set(['one']) }])),
      copy,
      folder: copy + '/run',
      options: { patience: 100 },
      signal: new AbortController().signal,
    })
    console.log(JSON.stringify(outcome))`
  const { code, output } = await runNode(['--input-type=module', '-e', program], inRoot(), t.signal)
  assert.is(code, 0, output)
  return JSON.parse(output.trim().split('\n').at(-1) ?? '')
}

const urlOf = (...path: string[]): string => pathToFileURL(inRoot('scripts', ...path)).href
const holds = file("test('holds', () => {})")

test('a flaky failure does not kill a mutant and is forgotten by the next run', async (t) => {
  const flaky = file(`import { existsSync, writeFileSync } from 'node:fs'
    test('holds the second time', () => {
      const isFirst = !existsSync('seen')
      writeFileSync('seen', '')
      if (isFirst) throw new Error('not yet')
    })`)
  const tests = { 'test/runtime/a.test.ts': flaky, 'test/runtime/b.test.ts': holds }
  assert.equal(await judgeMutant(t, tests), { outcome: 'survived', files: 2, of: 2 })
})

test('a file that ends before its tests kills a mutant, also after one that passed', async (t) => {
  const dies = "import { one } from '../../runtime/one.mjs'\nif (one !== 1) process.exit(0)\n"
  const tests = { 'test/runtime/a.test.ts': holds, 'test/runtime/b.test.ts': dies }
  assert.equal(await judgeMutant(t, tests), {
    outcome: 'killed',
    by: 'test/runtime/b.test.ts',
    files: 2,
    of: 2,
  })
})

test('a mutant that fails a test each time is killed by it', async (t) => {
  const notices = file(`import { one } from '../../runtime/one.mjs'
    test('is one', () => { if (one !== 1) throw new Error('it is ' + one) })`)
  const tests = { 'test/runtime/a.test.ts': holds, 'test/runtime/b.test.ts': notices }
  assert.equal(await judgeMutant(t, tests), {
    outcome: 'killed',
    by: 'test/runtime/b.test.ts',
    files: 2,
    of: 2,
  })
})

test('listed equivalent mutants still stand where the list says', () => {
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
