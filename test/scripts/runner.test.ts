// second tier: time
import { setTimeout } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { suite } from '../support/suite.js'
import { file, lastLine, runTests } from './fixture.js'

const test = suite('test runner, outcomes', { timeout: 20_000 })

test('a failing test is named and its message shown, and the other tests still run', async (t) => {
  const outcome = await runTests(t, {
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
  // a long log is read from its end
  assert.match(
    outcome.output,
    /failed files:\n {2}test\/a\/one\.test\.ts\n {4}fixture: breaks\n[\s\S]*the reason/,
  )
  assert.is(lastLine(outcome), '1 passed, 2 failed')
})

test('a hanging test fails at its timeout, aborts its signal and runs its cleanups', async (t) => {
  const body = `test('waits', (t) => {
    t.signal.addEventListener('abort', () => console.log('signal aborted'))
    t.after(() => console.log('cleanup one'))
    t.after(() => console.log('cleanup two'))
    return new Promise(() => {})
  }, { timeout: 50 })
  test('holds', () => {})`
  const outcome = await runTests(t, { 'test/a/one.test.ts': file(body) })
  assert.match(outcome.output, 'the test did not end within 50 ms')
  assert.match(outcome.output, /signal aborted[\s\S]*cleanup two[\s\S]*cleanup one/)
  assert.is(lastLine(outcome), '1 passed, 1 failed')
})

test('a cleanup that fails or hangs fails the test', async (t) => {
  const body = `test('holds', (t) => { t.after(() => { throw new Error('cannot clean') }) })`
  const outcome = await runTests(t, { 'test/a/one.test.ts': file(body) })
  assert.match(outcome.output, 'cannot clean')
  assert.is(lastLine(outcome), '0 passed, 1 failed')
})

test('a file that blocks is killed at its time limit and named', async (t) => {
  const outcome = await runTests(t, {
    'test/a/one.test.ts': file(
      `test('holds', () => {})\ntest('spins', () => { for (;;) {} })`,
      '// time limit: 1 s',
    ),
  })
  assert.match(outcome.output, /FAIL test\/a\/one\.test\.ts {2}1 passed, 1 failed/)
  assert.match(outcome.output, 'the file: killed: did not end within 1 s')
  assert.is(lastLine(outcome), '1 passed, 1 failed')
})

test('a killed file ends the processes it started, also those in own groups', async (t) => {
  const body = `test('spins', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' })
    await new Promise((resolve) => child.once('spawn', resolve))
    console.log('child is', child.pid)
    for (;;) {}
  })`
  const outcome = await runTests(t, { 'test/a/one.test.ts': file(body, '// time limit: 1 s') })
  const pid = Number(/child is (\d+)/.exec(outcome.output)?.[1])
  assert.ok(pid > 0, outcome.output)
  while (isRunning(pid)) await setTimeout(10, undefined, { signal: t.signal })
})

test('each kind of leak fails the file and is named', async (t) => {
  const outcome = await runTests(t, {
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
})

test('processes left behind in the group of a file fail it and are named', async (t) => {
  const left = `require('child_process').spawn(process.execPath, ['-e', 'setTimeout(() => {}, 9000)'])`
  const body = `test('holds', () => new Promise((done) => {
    const child = spawn(process.execPath, ['-e', ${JSON.stringify(`${left}.once('spawn', () => process.exit())`)}])
    child.once('exit', done)
  }))`
  const outcome = await runTests(t, { 'test/a/one.test.ts': file(body) })
  assert.match(outcome.output, /left processes running in its process group \(killed\)\n.*-e setTimeout/)
  assert.is(lastLine(outcome), '1 passed, 1 failed')
})

test('a leak is named beside a program that could not be started', async (t) => {
  const body = `test('starts nothing', async () => {
    try { spawn(process.execPath, [], { cwd: process.execPath }) } catch {}
    server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
  })
  let server`
  const outcome = await runTests(t, { 'test/a/one.test.ts': file(body) })
  assert.match(outcome.output, /leaked: server listening on 127\.0\.0\.1:\d+/)
})

test('handles that close within the grace are no leak', async (t) => {
  const body = `test('holds', async () => {
    const server = createServer()
    await new Promise((done) => server.listen(0, '127.0.0.1', done))
    server.close()
    setTimeout(() => {}, 20)
  })`
  const outcome = await runTests(t, { 'test/a/one.test.ts': file(body) })
  assert.is(outcome.code, 0, outcome.output)
})

test('a floating rejection and a throw from a timer fail the test they arrive in', async (t) => {
  const outcome = await runTests(t, {
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

test('declared stray errors are expected, and must come', async (t) => {
  const outcome = await runTests(t, {
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
  const outcome = await runTests(t, { 'test/a/one.test.ts': file(body) })
  assert.match(outcome.output, /the file: stray error while no test ran: uncaught exception: Error: too late/)
  assert.is(lastLine(outcome), '1 passed, 1 failed')
})

test('a test that exits the process fails the tests after it', async (t) => {
  const outcome = await runTests(t, {
    'test/a/one.test.ts': file(
      `test('holds', () => {})\ntest('leaves', () => process.exit(0))\ntest('never runs', () => {})`,
    ),
  })
  assert.match(outcome.output, 'the file: ended before its tests were finished (exit code 1)')
  assert.is(lastLine(outcome), '1 passed, 1 failed')
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
