// second tier: time
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { makeProject, runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'
import { file, lastLine, runTests } from './fixture.js'

const test = suite('test runner, runs', { timeout: 20_000 })

test('passing files end with exit code 0 and the sum of their tests on the last line', async (t) => {
  const outcome = await runTests(t, {
    'test/a/one.test.ts': file(`test('holds', () => {})\ntest('holds too', async () => {})`),
    'test/b/two.test.ts': file(`test('holds', () => {})`),
  })
  assert.is(outcome.code, 0, outcome.output)
  assert.is(lastLine(outcome), '3 passed, 0 failed')
})

test('--trace-leaks shows the line that made the leaked resource', async (t) => {
  const files = { 'test/a/timer.test.ts': file(`test('holds', () => {\n  setTimeout(() => {}, 60000)\n})`) }
  const outcome = await runTests(t, files, '--trace-leaks')
  assert.match(outcome.output, /Timeout made\n.*timer\.test\.ts:7:/)
})

test('a file without a test, without run(), or with a broken import is a failure', async (t) => {
  const outcome = await runTests(t, {
    'test/a/empty.test.ts': 'export {}\n',
    'test/a/no-run.test.ts': file(`test('holds', () => {})`).replace('test.run()', ''),
    'test/a/no-import.test.ts': file(`import './missing.js'\ntest('holds', () => {})`),
    'test/a/no-tests.test.ts': file(''),
  })
  assert.match(outcome.output, 'the file: no test ran: is test.run() called?')
  assert.match(outcome.output, 'missing.js')
  assert.is(lastLine(outcome), '0 passed, 4 failed')
})

test('a broken source fails its importers and the whole run', async (t) => {
  const files = {
    'runtime/broken.ts': 'const = 1\n',
    'test/a/one.test.ts': file(`test('holds', () => {})`),
    'test/a/two.test.ts': file(`import '../../runtime/broken.js'\ntest('holds', () => {})`),
  }
  const whole = await runTests(t, files)
  assert.match(whole.output, 'does not parse: runtime/broken.ts:1: Expected identifier but found "="')
  assert.is(lastLine(whole), '1 passed, 2 failed')
  const part = await runTests(t, files, 'a/one')
  assert.is(lastLine(part), '1 passed, 0 failed')
})

test('slow tests of a file belong to the second tier; by name all of it is run', async (t) => {
  const files = {
    'test/a/mixed.test.ts': file(`test('is fast', () => {})\ntest.slow('is slow', () => {})`),
    'test/a/fast.test.ts': file(`test('holds', () => {})`),
    'test/b/slow.test.ts': `// second tier: time\n${file(`test('holds', () => {})`)}`,
    'test/b/shared.test.ts': `// second tier: time\n// shares a process\n${file(`test('holds', () => {})`)}`,
  }
  const counted: Record<string, string | undefined> = {}
  for (const args of [
    [],
    ['--tier', 'second'],
    ['--tier', 'all'],
    ['mixed'],
    ['--tier', 'second', '--alone'],
  ])
    counted[args.join(' ')] = lastLine(await runTests(t, files, ...args))
  assert.equal(counted, {
    '': '2 passed, 0 failed',
    '--tier second': '3 passed, 0 failed',
    '--tier all': '5 passed, 0 failed',
    mixed: '2 passed, 0 failed',
    '--tier second --alone': '3 passed, 0 failed',
  })
  const both = { 'test/b/both.test.ts': `// second tier: time\n${file(`test.slow('is slow', () => {})`)}` }
  assert.match((await runTests(t, both, 'both')).output, /test\.slow: all of this file is in the second tier/)
})

test('arguments choose files by a part of their path, and no match is a failure', async (t) => {
  const files = { 'test/a/one.test.ts': file(`test('holds', () => {})`), 'test/b/two.test.ts': file('') }
  const chosen = await runTests(t, files, 'test/a')
  assert.is(lastLine(chosen), '1 passed, 0 failed')
  const none = await runTests(t, files, 'test/c')
  assert.is(none.code, 1)
  assert.match(none.output, 'no test file matches test/c')
})

test('--only runs the tests whose name has a part; none is a failure', async (t) => {
  const files = {
    'test/a/one.test.ts': file(
      `test('holds what it has', () => {})\ntest('breaks', () => { throw new Error('run') })`,
    ),
  }
  assert.is(lastLine(await runTests(t, files, 'a/one', '--only', 'holds what')), '1 passed, 0 failed')
  const none = await runTests(t, files, 'a/one', '--only', 'no such test')
  assert.match(none.output, 'the file: no test ran')
})

test('a skipped test is printed with its reason and counts as nothing', async (t) => {
  const body = `test('holds', () => {})\ntest.skip('draws', 'no browser here')`
  const outcome = await runTests(t, { 'test/a/one.test.ts': file(body) })
  assert.match(outcome.output, 'skipped fixture: draws: no browser here')
  assert.is(lastLine(outcome), '1 passed, 0 failed')
})

test('--coverage lists the lines that no test reached', async (t) => {
  const half =
    'type Text = string\nexport function used(): Text {\n  return "a"\n}\nexport function unused(): Text {\n  return "b"\n}\n'
  const files = {
    'runtime/half.ts': half,
    'runtime/never.ts': 'export const never = 1\n',
    'test/a/one.test.ts': file(
      `import { used } from '../../runtime/half.js'\ntest('holds', () => { used() })`,
    ),
  }
  const outcome = await runTests(t, files, '--coverage')
  assert.match(outcome.output, /never\.ts +\| +0 \|/)
  assert.match(outcome.output, /half\.ts +\| +\d+\.\d+ \| +100 \| +50 \| +\d+\.\d+ \| 6-7/)
  assert.is(lastLine(outcome), '1 passed, 0 failed')
})

test('npm test runs the fast tier, --tier the other or all, and a name what it fits', async (t) => {
  const files = {
    'test/a/fast.test.ts': file(`test('holds', () => {})`),
    'test/a/slow.test.ts': file(`test('holds', () => {})`, '// second tier: redis, time'),
    'test/a/wrong.test.ts': file(`test('holds', () => {})`, '// second tier: reddis'),
  }
  const fast = await runTests(t, files)
  assert.match(fast.output, 'ok   test/a/fast.test.ts')
  assert.not.match(fast.output, 'test/a/slow.test.ts')
  assert.match(fast.output, 'second tier: expected some of redis, browser,')
  const second = await runTests(t, files, '--tier', 'second')
  assert.not.match(second.output, 'test/a/fast.test.ts')
  assert.match(second.output, 'ok   test/a/slow.test.ts')
  const all = await runTests(t, files, '--tier', 'all')
  assert.is(lastLine(all), '2 passed, 1 failed')
  const named = await runTests(t, files, 'a/slow')
  assert.is(lastLine(named), '1 passed, 0 failed')
  const odd = await runTests(t, files, '--tier', 'third')
  assert.is(odd.code, 2)
  assert.match(odd.output, '--tier: expected fast, second or all, got third')
})

test('files share a process, unless their first lines, or --alone, say otherwise', async (t) => {
  const tells = (name: string, top = '') =>
    file(`test('holds', () => writeFileSync('pid-${name}', String(process.pid)))`, top).replace(
      'import { spawn',
      "import { writeFileSync } from 'node:fs'\nimport { spawn",
    )
  const project = makeProject(t, {
    'test/a/one.test.ts': tells('one'),
    'test/a/two.test.ts': tells('two'),
    'test/b/own.test.ts': tells('own', '// own process: it looks at what is loaded'),
    'test/c/second.test.ts': tells('second', '// second tier: time'),
    'test/c/shares.test.ts': tells('shares', '// second tier: time\n// shares a process'),
  })
  const pids = async (...args: string[]): Promise<string[]> => {
    const options = ['--tier', 'all', '--at-once', '1', ...args]
    const command = [inRoot('scripts', 'test.mjs'), '--root', project, ...options]
    const { code, output } = await runNode(command, project, t.signal)
    assert.is(code, 0, output)
    return ['one', 'two', 'own', 'second', 'shares'].map((name) =>
      readFileSync(join(project, `pid-${name}`), 'utf8'),
    )
  }
  const [one, two, own, second, shares] = await pids()
  assert.equal([two, shares], [one, one])
  assert.is(new Set([one, own, second]).size, 3)
  assert.is(new Set(await pids('--alone')).size, 5)
})

test('a file that measures runs when all others have ended', async (t) => {
  const tells = (name: string, ms: number, top: string) =>
    file(
      `test('holds', async () => {
        appendFileSync('order', '${name} begins ')
        await new Promise((done) => setTimeout(done, ${ms}))
        appendFileSync('order', '${name} ends ')
      })`,
      top,
    ).replace('import { spawn', "import { appendFileSync } from 'node:fs'\nimport { spawn")
  const project = makeProject(t, {
    'test/a/measures.test.ts': tells('measure', 1, '// second tier: quiet'),
    'test/a/other.test.ts': tells('other', 500, '// second tier: time'),
    'test/b/third.test.ts': tells('third', 200, '// second tier: time'),
  })
  const command = [inRoot('scripts', 'test.mjs'), '--root', project, '--tier', 'all', '--at-once', '3']
  const { code, output } = await runNode(command, project, t.signal)
  assert.is(code, 0, output)
  assert.match(readFileSync(join(project, 'order'), 'utf8'), /ends measure begins measure ends $/)
})

test('what a file leaves in a shared process fails that file, not the next one', async (t) => {
  const outcome = await runTests(
    t,
    {
      'test/a/1.test.ts': file(`test('holds', () => {
        process.env.LEFT = 'behind'
        setInterval(() => {}, 1_000)
        setTimeout(() => { throw new Error('too late') }, 50)
      })`),
      'test/a/2.test.ts': file(
        `test('holds', () => { if (process.env.LEFT) throw new Error('not a clean start') })`,
      ),
      'test/a/3.test.ts': file(`test('holds', () => {})\ntest('leaves', () => process.exit(0))`),
      'test/a/4.test.ts': file(`test('holds', () => {})`),
    },
    '--at-once',
    '1',
  )
  assert.match(outcome.output, /FAIL test\/a\/1[\s\S]*leaked: 1 active timer/)
  assert.match(outcome.output, /the file: stray error while no test ran: uncaught exception: Error: too late/)
  assert.match(outcome.output, 'ok   test/a/2.test.ts  1 passed')
  assert.match(outcome.output, /FAIL test\/a\/3[\s\S]*ended before its tests were finished/)
  assert.match(outcome.output, 'ok   test/a/4.test.ts  1 passed')
  assert.is(lastLine(outcome), '4 passed, 2 failed')
})

test('--within fails a run that takes longer, and --slowest names where the time goes', async (t) => {
  const files = {
    'test/a/one.test.ts': file(`test('holds', () => {})`),
    'test/a/two.test.ts': file(`test('holds', () => new Promise((done) => setTimeout(done, 900)))`),
  }
  const outcome = await runTests(t, files, '--within', '0.5', '--slowest', '1')
  assert.match(outcome.output, /slowest files:\n +\d\.\d s +\d\.\d s of CPU {2}test\/a\/two\.test\.ts\n/)
  assert.match(outcome.output, /failed: the run took \d+\.\d s, more than 0\.5 s/)
  assert.is(lastLine(outcome), '2 passed, 1 failed')
})

test('--check runs the checks of the house, whose problems fail the run', async (t) => {
  const files = {
    'tsconfig.json': '{ "include": ["runtime/a.ts"] }\n',
    'runtime/a.ts': 'export let a = 1\n',
    'test/a/one.test.ts': file(`test('holds', () => {})`),
  }
  const outcome = await runTests(t, files, '--check')
  assert.match(outcome.output, 'runtime/a.ts:1 let at module level')
  assert.match(outcome.output, 'failed: the check, see above')
  assert.is(lastLine(outcome), '1 passed, 1 failed')
})

test('a test file runs alone with plain node once it is transpiled', async (t) => {
  const project = makeProject(t, { 'test/a/one.test.ts': file(`test('holds', () => {})`) })
  await runNode([inRoot('scripts', 'test.mjs'), '--root', project], project, t.signal)
  const outcome = await runNode(['.t/test/a/one.test.js'], project, t.signal)
  assert.is(outcome.code, 0)
  assert.match(outcome.output, 'Passed:    1')
})

test.run()
