// second tier: time
// time limit: 300 s
import * as assert from 'uvu/assert'
import type { BlockedEvent } from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import { type ProgramEnd, runProgram, runtimeUrl } from '../_program.js'

const test = suite('watchdog', { timeout: 90_000 })
const [major] = process.versions.node.split('.').map(Number) as [number]

test('each block is reported once with owner and stack, wherever it hangs', async (t) => {
  const kinds = ['spin', 'regexp', 'native', 'wait', 'ticks']
  const twice = `await watched()
    for (const [at, kind] of ${JSON.stringify(kinds)}.entries())
      for (const nth of [1, 2]) { await hog.call(kind); await told(2 * at + nth) }`
  let events = await blocked(t, twice)
  // a busy machine that gives the program no time is told of too, with nobody as owner
  for (let again = 0; again < 3 && events.some(({ owner }) => owner === undefined); again++)
    events = await blocked(t, twice)
  assert.equal(
    events.map(({ owner }) => owner),
    kinds.flatMap(() => ['hog', 'hog']),
  )
  for (const [index, { stack, ms, ancestors }] of events.entries()) {
    const kind = kinds[Math.floor(index / 2)]
    assert.match(stack.join('\n'), new RegExp(`\\b${kind} \\(`))
    assert.ok(ms >= 100, `${kind}: ${ms}`)
    assert.equal(ancestors, [])
  }
})

test('a busy loop that turns is not reported', async (t) => {
  const turning = `const end = Date.now() + 2_000
    while (Date.now() < end) { block(5); await new Promise(setImmediate) }`
  assert.equal(await blocked(t, `await watched(); ${turning}`), [])
})

test('a program stopped and continued was not blocked', async (t) => {
  const stopped = `const { spawn } = await import('node:child_process')
    for (let i = 0; i < 3; i++) {
      const again = spawn('sh', ['-c', 'kill -STOP ' + process.pid + '; sleep 0.7; kill -CONT ' + process.pid])
      await new Promise((resolve) => again.once('close', resolve))
      await pause(300)
    }`
  assert.equal(await blocked(t, `await watched(); ${stopped}`), [])
})

test('a breakpoint is no block, and a block is reported beside a debugger', async (t) => {
  const debugged = `const { Worker } = await import('node:worker_threads')
    const text = \`const { Session } = require('node:inspector'), session = new Session()
      session.connectToMainThread()
      let pauses = 0
      session.on('Debugger.paused', () => {
        if (pauses++ === 0) setTimeout(() => session.post('Debugger.resume'), 1_000)
      })
      session.post('Debugger.enable', () => require('node:worker_threads').parentPort.postMessage('ready'))
      setInterval(() => {}, 60_000)\`
    await watched()
    const debuggers = new Worker(text, { eval: true, execArgv: [] })
    await new Promise((resolve) => debuggers.once('message', resolve))
    await hog.call('point')
    await pause(300)
    if (events.length > 0) throw new Error('told of a breakpoint')
    await hog.call('spin')
    await told(1)
    writeSync(1, JSON.stringify(events) + '\\n')
    await pause(60_000)`
  // a program with a debugger beside it waits for that one before it ends
  const { stdout } = await run(t, debugged, {}, /\]\n$/)
  const events = JSON.parse(stdout) as BlockedEvent[]
  assert.is(events.length, 1)
  assert.match(events[0]?.stack.join('\n') ?? '', /\bspin \(/)
})

test('with exit the watchdog kills the program and says why', async (t) => {
  const { code, stderr } = await run(t, `for (;;) { block(1_000); await pause(20) }`, { onBlocked: 'exit' })
  assert.is(code, null)
  assert.match(stderr, /caduceus: the event loop was blocked for \d+ ms.*: the program ends\n {4}at .*block/s)
})

test('an endless block is written to stderr by the watchdog thread', async (t) => {
  const text = `await watched(); await hog.call('forever')`
  const { stderr } = await run(t, text, { logger: undefined }, /and goes on\n/)
  assert.match(stderr, /caduceus: the event loop was blocked for \d+ ms by hog: and goes on\n {4}at forever /)
})

test('a program that may start no threads goes on without a watchdog', async (t) => {
  const flag = major >= 24 ? '--permission' : '--experimental-permission'
  const text = `await pause(1_300); hog.call('spin').then(() => console.log('whole'))`
  const { stdout, code } = await run(t, text, {}, undefined, [flag, '--allow-fs-read=*'])
  assert.equal([code, stdout], [0, 'whole\n'])
})

test('a tree that ends at once makes no thread, and a thread keeps no program alive', async (t) => {
  const text = `let threads = 0
    process.on('worker', () => (threads += 1))
    await hog.stop()
    await pause(1_300)
    console.log(threads)
    await startActor(defineActor({ name: 'other', init: () => ({}) }), undefined, { logger: false })
    await pause(1_300)
    console.log(threads)`
  const { stdout, code } = await run(t, text)
  assert.equal([code, stdout], [0, '0\n1\n'])
})

test('a tree within a worker thread is not watched', async (t) => {
  const text = `const { Worker } = await import('node:worker_threads')
    await hog.stop()
    const program = \`import { defineActor, startActor } from ${JSON.stringify(runtimeUrl)}
      let threads = 0
      process.on('worker', () => (threads += 1))
      await startActor(defineActor({ name: 'inner', init: () => ({}) }), undefined, { onBlocked: 'exit', logger: false })
      await new Promise((resolve) => setTimeout(resolve, 1_300))
      console.log(threads)\`
    new Worker(new URL('data:text/javascript,' + encodeURIComponent(program)))`
  const { stdout, code } = await run(t, text)
  assert.equal([code, stdout], [0, '0\n'])
})

test('a program that exits while it is inspected exits at once and writes nothing', async (t) => {
  const exits = [300, 330, 360, 400].map((ms) => run(t, `await watched(); block(${ms}); process.exit(3)`))
  for (const { code, stderr } of await Promise.all(exits)) assert.equal([code, stderr], [3, ''])
})

test.run()

/** The events of a program that has a hog, and whose watchdog is awake after `watched()`. */
async function blocked(t: TestContext, text: string): Promise<BlockedEvent[]> {
  const { code, stdout, stderr } = await run(
    t,
    `${text}; await pause(300); console.log(JSON.stringify(events)); await hog.stop()`,
  )
  assert.is(code, 0, stderr)
  return JSON.parse(stdout) as BlockedEvent[]
}

function run(
  t: TestContext,
  text: string,
  options: object = {},
  until?: RegExp,
  flags?: readonly string[],
): Promise<ProgramEnd> {
  const given = JSON.stringify({ blockedAfter: 100, logger: false, ...options })
  return runProgram(
    t,
    program.replace('GIVEN', given).replace('TEXT', () => text),
    flags,
    until,
  )
}

/** Blocks by the processor's time: of what a busy machine gives to others nobody is told. */
const program = `
import { pbkdf2Sync } from 'node:crypto'
import { writeSync } from 'node:fs'
import { defineActor, startActor, subscribe } from ${JSON.stringify(runtimeUrl)}
const used = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1_000 }
const block = (ms) => { const end = used() + ms; while (used() < end); }
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
let isAwake = false
process.once('worker', (worker) => worker.once('online', () => (isAwake = true)))
const hog = await startActor(
  defineActor({
    name: 'hog',
    init: () => ({}),
    call: {
      spin() { block(700) },
      forever() { for (;;); },
      regexp() { for (let n = 20, start = used(); used() - start < 500; n++) /^(a+)+$/.test('a'.repeat(n) + 'b') },
      native() { for (let n = 4e5, start = used(); used() - start < 700; n *= 2) pbkdf2Sync('a', 'b', n, 64, 'sha512') },
      wait() { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700) },
      point() { debugger },
      ticks() { const end = used() + 700; return new Promise((resolve) => (function ticks() { used() < end ? process.nextTick(ticks) : resolve() })()) },
    },
  }),
  undefined,
  GIVEN,
)
const call = hog.call.bind(hog)
hog.call = (name) => call(name, undefined, { timeout: Infinity })
const events = []
subscribe('blocked', (event) => events.push(event))
const told = async (count) => { while (events.length < count) await pause(10) }
const watched = async () => { while (!isAwake) await pause(20); while (events.length === 0) { block(300); await pause(20) } await pause(300); events.length = 0 }
TEXT
`
