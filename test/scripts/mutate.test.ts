import { existsSync, readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import { runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

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
