import { setTimeout } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { makeProject, type Outcome, runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('test runner')
const patient = { timeout: 20_000 }

/** A test file around the given statements. */
function file(body: string, top = ''): string {
  return `${top}
import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { suite } from '../support/suite.js'
const test = suite('fixture')
${body}
test.run()
`
}

async function run(t: TestContext, files: Record<string, string>, ...args: string[]): Promise<Outcome> {
  const project = makeProject(t, files)
  return runNode([inRoot('scripts', 'test.mjs'), '--root', project, ...args], project, t.signal)
}

function lastLine({ output }: Outcome): string | undefined {
  return output.trimEnd().split('\n').at(-1)
}

test('passing files end with exit code 0 and the sum of their tests on the last line', async (t) => {
  const outcome = await run(t, {
    'test/a/one.test.ts': file(`test('holds', () => {})\ntest('holds too', async () => {})`),
    'test/b/two.test.ts': file(`test('holds', () => {})`),
  })
  assert.is(outcome.code, 0, outcome.output)
  assert.is(lastLine(outcome), '3 passed, 0 failed')
})

test('a failing test is named and its message shown, and the other tests still run', async (t) => {
  const outcome = await run(t, {
    'test/a/one.test.ts': file(`
      test('breaks', () => { throw new Error('the reason', { cause: new Error('the deeper reason') }) })
      test('breaks oddly', () => { throw undefined })
      test('holds', () => {})`),
  })
  assert.is(outcome.code, 1)
  assert.match(outcome.output, /FAIL test\/a\/one\.test\.ts {2}1 passed, 2 failed/)
  assert.match(outcome.output, 'failed  fixture: breaks\n')
  assert.match(outcome.output, 'the reason')
  assert.match(outcome.output, 'the deeper reason')
  assert.match(outcome.output, /one\.test\.ts:7:/)
  assert.is(lastLine(outcome), '1 passed, 2 failed')
})

test('a test that never settles fails at its own timeout, with its signal aborted and its cleanups run', async (t) => {
  const body = `test('waits', (t) => {
    t.signal.addEventListener('abort', () => console.log('signal aborted'))
    t.after(() => console.log('cleanup one'))
    t.after(() => console.log('cleanup two'))
    return new Promise(() => {})
  }, { timeout: 50 })
  test('holds', () => {})`
  const outcome = await run(t, { 'test/a/one.test.ts': file(body) })
  assert.match(outcome.output, 'the test did not end within 50 ms')
  assert.match(outcome.output, /signal aborted[\s\S]*cleanup two[\s\S]*cleanup one/)
  assert.is(lastLine(outcome), '1 passed, 1 failed')
})

test('a cleanup that fails or hangs fails the test', async (t) => {
  const body = `test('holds', (t) => { t.after(() => { throw new Error('cannot clean') }) })`
  const outcome = await run(t, { 'test/a/one.test.ts': file(body) })
  assert.match(outcome.output, 'cannot clean')
  assert.is(lastLine(outcome), '0 passed, 1 failed')
})

test(
  'a file that blocks is killed at its time limit and named',
  async (t) => {
    const outcome = await run(t, {
      'test/a/one.test.ts': file(
        `test('holds', () => {})\ntest('spins', () => { for (;;) {} })`,
        '// time limit: 1 s',
      ),
    })
    assert.match(outcome.output, /FAIL test\/a\/one\.test\.ts {2}1 passed, 1 failed/)
    assert.match(outcome.output, 'the file: killed: did not end within 1 s')
    assert.is(lastLine(outcome), '1 passed, 1 failed')
  },
  patient,
)

test(
  'a killed file takes the processes it started with it, also those in a group of their own',
  async (t) => {
    const body = `test('spins', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' })
    await new Promise((resolve) => child.once('spawn', resolve))
    console.log('child is', child.pid)
    for (;;) {}
  })`
    const outcome = await run(t, { 'test/a/one.test.ts': file(body, '// time limit: 1 s') })
    const pid = Number(/child is (\d+)/.exec(outcome.output)?.[1])
    assert.ok(pid > 0, outcome.output)
    while (isRunning(pid)) await setTimeout(10, undefined, { signal: t.signal })
  },
  patient,
)

test(
  'each kind of leak fails the file and is named',
  async (t) => {
    const outcome = await run(t, {
      'test/a/server.test.ts': file(
        `test('holds', () => new Promise((done) => { createServer().listen(0, '127.0.0.1', done) }))`,
      ),
      'test/a/timer.test.ts': file(
        `test('holds', () => { setInterval(() => {}, 1000); setTimeout(() => {}, 60000) })`,
      ),
      'test/a/child.test.ts': file(
        `test('holds', () => { spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']).unref() })`,
      ),
      'test/a/listener.test.ts': file(`test('holds', () => { process.on('uncaughtException', () => {}) })`),
    })
    assert.match(outcome.output, /leaked: server listening on 127\.0\.0\.1:\d+/)
    assert.match(outcome.output, 'leaked: 2 active timers (--trace-leaks shows where they were made)')
    assert.match(outcome.output, /leaked: child process \d+: \S+ -e setInterval/)
    assert.match(outcome.output, 'leaked: process listener for uncaughtException')
    assert.is(lastLine(outcome), '4 passed, 4 failed')
  },
  patient,
)

test('--trace-leaks shows the line that made the leaked resource', async (t) => {
  const files = { 'test/a/timer.test.ts': file(`test('holds', () => {\n  setTimeout(() => {}, 60000)\n})`) }
  const outcome = await run(t, files, '--trace-leaks')
  assert.match(outcome.output, /Timeout made\n.*timer\.test\.ts:7:/)
})

test('processes left behind in the group of a file fail it and are named', async (t) => {
  const left = `require('child_process').spawn(process.execPath, ['-e', 'setTimeout(() => {}, 9000)'])`
  const body = `test('holds', () => new Promise((done) => {
    const child = spawn(process.execPath, ['-e', ${JSON.stringify(`${left}.once('spawn', () => process.exit())`)}])
    child.once('exit', done)
  }))`
  const outcome = await run(t, { 'test/a/one.test.ts': file(body) })
  assert.match(outcome.output, /left processes running in its process group \(killed\)\n.*-e setTimeout/)
  assert.is(lastLine(outcome), '1 passed, 1 failed')
})

test('handles that close within the grace are no leak', async (t) => {
  const body = `test('holds', async () => {
    const server = createServer()
    await new Promise((done) => server.listen(0, '127.0.0.1', done))
    server.close()
    setTimeout(() => {}, 20)
  })`
  const outcome = await run(t, { 'test/a/one.test.ts': file(body) })
  assert.is(outcome.code, 0, outcome.output)
})

test('a floating rejection and a throw from a timer fail the test they arrive in', async (t) => {
  const outcome = await run(t, {
    'test/a/rejection.test.ts': file(`
      test('floats', () => { void Promise.reject(new Error('nobody waits')) })
      test('holds', () => {})`),
    'test/a/throw.test.ts': file(`test('throws late', async () => {
      await new Promise((done) => setTimeout(() => { done(); throw new Error('from a timer') }))
    })`),
  })
  assert.match(outcome.output, /failed {2}fixture: floats\n/)
  assert.match(
    outcome.output,
    /expected 0 stray error\(s\), saw 1\n.*unhandled rejection: Error: nobody waits/,
  )
  assert.match(outcome.output, /uncaught exception: Error: from a timer/)
  assert.is(lastLine(outcome), '1 passed, 2 failed')
})

test('declared stray errors are part of the test, and must come', async (t) => {
  const outcome = await run(t, {
    'test/a/one.test.ts': file(`
      test('expects one', (t) => { t.expectStray(1); void Promise.reject(new Error('expected')) })
      test('expects some', (t) => { t.expectStray(); void Promise.reject(1); void Promise.reject(2) })
      test('misses one', (t) => { t.expectStray(2); void Promise.reject(new Error('expected')) })
      test('misses all', (t) => { t.expectStray() })`),
  })
  assert.match(outcome.output, 'failed  fixture: misses one\n')
  assert.match(outcome.output, 'failed  fixture: misses all\n')
  assert.is(lastLine(outcome), '2 passed, 2 failed')
})

test('a stray error after the last test fails the file', async (t) => {
  const body = `test('holds', () => { setTimeout(() => { throw new Error('too late') }, 50) })`
  const outcome = await run(t, { 'test/a/one.test.ts': file(body) })
  assert.match(outcome.output, /the file: stray error while no test ran: uncaught exception: Error: too late/)
  assert.is(lastLine(outcome), '1 passed, 1 failed')
})

test('a file without a test, without run(), or with a broken import is a failure', async (t) => {
  const outcome = await run(t, {
    'test/a/empty.test.ts': 'export {}\n',
    'test/a/no-run.test.ts': file(`test('holds', () => {})`).replace('test.run()', ''),
    'test/a/no-import.test.ts': file(`import './missing.js'\ntest('holds', () => {})`),
    'test/a/no-tests.test.ts': file(''),
  })
  assert.match(outcome.output, 'the file: no test ran (exit code 0)')
  assert.match(outcome.output, 'no test ran: is test.run() called?')
  assert.match(outcome.output, 'missing.js')
  assert.is(lastLine(outcome), '0 passed, 4 failed')
})

test('a test that ends the process does not pass for the tests after it', async (t) => {
  const outcome = await run(t, {
    'test/a/one.test.ts': file(
      `test('holds', () => {})\ntest('leaves', () => process.exit(0))\ntest('never runs', () => {})`,
    ),
  })
  assert.match(outcome.output, 'the file: ended before its tests were finished (exit code 1)')
  assert.is(lastLine(outcome), '1 passed, 1 failed')
})

test('a source that does not parse fails what imports it, and the run as a whole', async (t) => {
  const files = {
    'runtime/broken.ts': 'const = 1\n',
    'test/a/one.test.ts': file(`test('holds', () => {})`),
    'test/a/two.test.ts': file(`import '../../runtime/broken.js'\ntest('holds', () => {})`),
  }
  const whole = await run(t, files)
  assert.match(whole.output, 'does not parse: runtime/broken.ts:1: Expected identifier but found "="')
  assert.is(lastLine(whole), '1 passed, 2 failed')
  const part = await run(t, files, 'a/one')
  assert.is(lastLine(part), '1 passed, 0 failed')
})

test('arguments choose files by a part of their path, and no match is a failure', async (t) => {
  const files = { 'test/a/one.test.ts': file(`test('holds', () => {})`), 'test/b/two.test.ts': file('') }
  const chosen = await run(t, files, 'test/a')
  assert.is(lastLine(chosen), '1 passed, 0 failed')
  const none = await run(t, files, 'test/c')
  assert.is(none.code, 1)
  assert.match(none.output, 'no test file matches test/c')
})

test('a skipped test is printed with its reason and counts as nothing', async (t) => {
  const body = `test('holds', () => {})\ntest.skip('draws', 'no browser here')`
  const outcome = await run(t, { 'test/a/one.test.ts': file(body) })
  assert.match(outcome.output, 'skipped fixture: draws: no browser here')
  assert.is(lastLine(outcome), '1 passed, 0 failed')
})

test('a test file runs alone with plain node once it is transpiled', async (t) => {
  const project = makeProject(t, { 'test/a/one.test.ts': file(`test('holds', () => {})`) })
  await runNode([inRoot('scripts', 'test.mjs'), '--root', project], project, t.signal)
  const outcome = await runNode(['.t/test/a/one.test.js'], project, t.signal)
  assert.is(outcome.code, 0)
  assert.match(outcome.output, 'Passed:    1')
})

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test.run()
