import { channel } from 'node:diagnostics_channel'
import * as assert from 'uvu/assert'
import { crash, defineActor, type Logger, startActor, startSupervisor } from 'caduceus/runtime'
import { processOf } from '../../../runtime/process/ref.js'
import { suite, type TestContext } from '../../support/suite.js'
import { ending, failure, gather, Recorder, startTree, turn, worker, workerOf } from '../_family.js'
import { runProgram, runtimeUrl } from '../_program.js'

const test = suite('log')
const strategy = 'one_for_one'
const boom = new Error('boom')

type Line = [level: string, message: string, facts: Record<string, unknown>]

function memoryLogger(): { lines: Line[]; logger: Logger } {
  const lines: Line[] = []
  const at = (level: string) => (facts: object, message: string) =>
    void lines.push([level, message, { ...facts }])
  return { lines, logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } }
}

async function crashOnce(t: TestContext, logger: Logger | false): Promise<void> {
  const log = new Recorder()
  const tree = await startTree(t, { strategy, logger, children: [worker(log, 'a')] })
  ;(await workerOf(tree, 'a')).cast('crash', boom)
  await log.next(3)
  await tree.stop()
}

test('an own logger gets the reports of its tree: facts first, then a sentence', async (t) => {
  const { lines, logger } = memoryLogger()
  await crashOnce(t, logger)
  assert.equal(
    lines.map(([level, message]) => [level, message]),
    [
      ['debug', 'a: started'],
      ['error', 'a crashed'],
      ['warn', 'a: child terminated'],
      ['debug', 'a: restarted'],
    ],
  )
  const [, [, , crashed] = [], [, , terminated] = []] = lines
  assert.is(crashed?.err, boom)
  assert.equal([crashed?.actor, crashed?.during, crashed?.ancestors], ['a', 'crash', ['supervisor']])
  assert.equal([terminated?.supervisor, terminated?.reason], ['supervisor', 'crash: boom'])
})

test('a category is written from the level on that was chosen for it', async (t) => {
  const { lines, logger } = memoryLogger()
  const logLevels = { crash: 'silent', supervisor: 'error', progress: 'debug', stray: 'debug' } as const
  const log = new Recorder()
  const tree = await startTree(t, { strategy, logger, logLevels, children: [worker(log, 'a')] })
  ;(await workerOf(tree, 'a')).cast('crash', boom)
  await log.next(3)
  await tree.stop()
  assert.equal(
    lines.map(([level, message, { category }]) => [level, message, category]),
    [
      ['debug', 'a: started', 'progress'],
      ['debug', 'a: restarted', 'progress'],
    ],
  )
})

test('events of upper floors are logged at their level, from the chosen one on', async (t) => {
  const { lines, logger } = memoryLogger()
  const logLevels = { 'server.request': 'info', 'client.log': 'silent' } as const
  const tree = await startTree(t, { strategy, logger, logLevels })
  const { id } = processOf(tree.ref).tree
  const tell = (category: string, facts: object): void =>
    channel(`caduceus.${category}`).publish({ tree: id, ...facts })
  tell('server.request', { type: 'started' })
  tell('server.request', { type: 'error', id: 'x'.repeat(600), count: 1 })
  tell('server.request', { type: 'refused' })
  tell('server.request', { type: 'started', level: 'warn' })
  tell('server.request', { type: 'error', tree: id + 1 })
  tell('server.session', { type: 'error' })
  tell('client.log', { type: 'said', level: 'error' })
  tell('client.warning', { type: 'odd', level: 'warn' })
  await tree.stop()
  const category = 'server.request'
  assert.equal(lines, [
    ['info', 'server.request error', { category, tree: id, type: 'error', id: 'x'.repeat(500), count: 1 }],
    ['info', 'server.request refused', { category, tree: id, type: 'refused' }],
    ['warn', 'server.request started', { category, tree: id, type: 'started' }],
    ['warn', 'client.warning odd', { category: 'client.warning', tree: id, type: 'odd' }],
  ])
})

test('logger: false writes nothing, and loggers of other trees hear nothing', async (t) => {
  const { lines, logger } = memoryLogger()
  const other = await startTree(t, { strategy, logger })
  const crashes = gather(t, 'crash')
  await crashOnce(t, false)
  assert.is(crashes.length, 1)
  assert.equal(lines, [])
  await other.stop()
})

test('an ended tree logs nothing, and a failed start leaves no subscription', async () => {
  const { lines, logger } = memoryLogger()
  const log = new Recorder()
  const fails = worker(log, 'a', {
    init() {
      throw boom
    },
  })
  await failure(startSupervisor({ strategy, logger, children: [fails] }))
  await turn()
  assert.equal(
    lines.splice(0).map(([, message]) => message),
    ['a crashed', 'a: start error'],
  )
  const quiet = await startSupervisor({ strategy, logger: false, children: [worker(log, 'b')] })
  const ended = ending(quiet.ref)
  quiet.ref.exit(crash(boom))
  await ended
  assert.equal(lines, [])
})

test('a logger that throws is nobody’s crash', async (t) => {
  t.expectStray()
  const fails = (): never => {
    throw boom
  }
  const logger = { debug: fails, info: fails, warn: fails, error: fails }
  const log = new Recorder()
  const tree = await startTree(t, { strategy, logger, children: [worker(log, 'a')] })
  ;(await workerOf(tree, 'a')).cast('crash')
  await log.next(3)
  assert.is(await (await workerOf(tree, 'a')).call('id'), 'a')
  await tree.stop()
})

test('a wrong logger is refused with BAD_OPTION and leaves nothing', async () => {
  const listeners = process.listenerCount('uncaughtException')
  const behaviour = defineActor({ name: 'a', init: () => 0 })
  for (const logger of [true, 'console', null, { error: () => {} }]) {
    const error = await failure(startActor(behaviour, undefined, { logger: logger as never }))
    assert.is(error.code, 'BAD_OPTION')
    assert.match(
      error.message,
      "logger: expected false, 'text', 'json' or an object with debug, info, warn, error",
    )
  }
  await turn()
  await turn()
  assert.is(process.listenerCount('uncaughtException'), listeners)
})

/** A crash that is written, by a program of `counting`. */
const crashing = `const ref = (await tree.children())[0].ref
    ref.cast('crash')
    await new Promise((resolve) => subscribe('progress', resolve))
    while (!loaded()) await new Promise((resolve) => setImmediate(resolve))
    await tree.stop()
    await new Promise((resolve) => setTimeout(resolve, 50))`
const counting = `
  import { createRequire } from 'node:module'
  import { defineActor, startSupervisor, childSpec, subscribe } from ${JSON.stringify(runtimeUrl)}
  const loaded = () => Object.keys(createRequire(import.meta.url).cache).some((path) => path.includes('/pino/'))
  const tell = (text) => process.stderr.write(JSON.stringify({ told: text, loaded: loaded() }) + '\\n')
  const fragile = defineActor({ name: 'fragile', init: () => 0, cast: { crash() { throw new Error('boom') } } })
  const tree = await startSupervisor({ strategy: 'one_for_one', children: [childSpec(fragile)] })
`

test.slow('by default reports are JSON lines on stderr, and pino loads with the first', async (t) => {
  const program = `${counting}
    tell('started')
    ${crashing}
    tell('stopped')
  `
  const { code, stdout, stderr } = await runProgram(t, program)
  assert.equal([code, stdout], [0, ''])
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.equal(lines[0], { told: 'started', loaded: false })
  assert.equal(
    lines
      .slice(1, 3)
      .map(({ level, name, actor, msg, err }) => [
        level,
        name,
        actor,
        msg,
        (err as { message?: string })?.message,
      ]),
    [
      [50, 'caduceus', 'fragile', 'fragile crashed', 'boom'],
      [40, 'caduceus', undefined, 'fragile: child terminated', undefined],
    ],
  )
  assert.equal(lines.at(-1), { told: 'stopped', loaded: true })
})

test.slow('the texts of an error are bounded in its line, and how much is left out is said', async (t) => {
  const program = `${counting.replace("new Error('boom')", "new Error('x'.repeat(4_000_000))")}
    ${crashing}
  `
  const { code, stderr } = await runProgram(t, program)
  assert.is(code, 0)
  for (const line of stderr.trim().split('\n')) assert.ok(line.length < 64 * 1024, `${line.length}`)
  assert.match(stderr, '(3991808 characters left out)')
  // the frames are there: they come after the message
  assert.match(stderr, /x\\n +at \S*crash/)
})

test('a line in JSON is one line for everybody, and steers no terminal', async (t) => {
  const hostile = 'a\\u2028b\\u009b31mc\\u007fd\\u202ee'
  const program = `${counting.replace("new Error('boom')", `new Error('${hostile}')`)}
    ${crashing}
  `
  const { stderr } = await runProgram(t, program)
  assert.not.match(stderr, /[\u007f-\u009f\u2028\u202e]/)
  const messages = stderr
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { err?: { message: string } }).err?.message)
  assert.ok(messages.includes(JSON.parse(`"${hostile}"`)), stderr)
})

test.slow('a closed stderr loses its lines only', async (t) => {
  const program = `${counting}
    import { closeSync } from 'node:fs'
    process.stderr.on('error', () => {})
    closeSync(2)
    for (let i = 0; i < 3; i++) {
      const started = new Promise((resolve) => subscribe('progress', resolve))
      ;(await tree.children())[0].ref.cast('crash')
      await started
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    console.log((await tree.children())[0].restarts)
    await tree.stop()
  `
  const { code, stdout } = await runProgram(t, program)
  assert.equal([code, stdout], [0, '3\n'])
})

test.run()
