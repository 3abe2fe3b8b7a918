// second tier: time
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, stop } from 'esbuild'
import * as assert from 'uvu/assert'
import { inRoot } from '../../support/root.js'
import { suite, type TestContext } from '../../support/suite.js'
import { runProgram, runtimeUrl } from '../_program.js'

const test = suite('containment in a process of its own')
const patient = { timeout: 20_000 }

/** Starts a tree with an actor and a task supervisor, and says how to break things. */
const opening = `
  import { defineActor, startSupervisor, childSpec, taskSupervisorSpec, subscribe } from ${JSON.stringify(runtimeUrl)}
  const neighbour = defineActor({ name: 'neighbour', init: () => 0, call: { id: () => 'neighbour answers' } })
  const tree = await startSupervisor({ strategy: 'one_for_one', logger: false, children: [childSpec(neighbour)] })
  const { extra: tasks } = await tree.startChild(taskSupervisorSpec())
  const ask = async () => console.log(await (await tree.children()).find(({ id }) => id === 'neighbour').ref.call('id'))
  const told = (fn) => subscribe('stray', (event) => fn(event))
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const throws = (text) => () => { throw new Error(text) }
`

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}

test('with a live tree an unowned error does not end Node, with or without a handler', async (t) => {
  const program = `${opening}
    told(async ({ owner, outcome, error }) => {
      console.log(String(owner), outcome, error.message)
      await ask()
      await tree.stop()
    })
    setTimeout(throws('nobody'), 1)
  `
  const end = await runProgram(t, program)
  assert.equal(lines(end.stdout), ['undefined reported nobody', 'neighbour answers'])
  assert.equal([end.code, end.stderr], [0, ''])
})

test('an unowned error unheard by the host is one Node warning for all trees', async (t) => {
  const program = `${opening}
    const other = await startSupervisor({ strategy: 'one_for_one', logger: false })
    process.on('warning', ({ code, message }) => console.log(code, message.split('\\n')[0]))
    const heard = new Promise((resolve) => process.once('warning', resolve))
    setTimeout(throws('unheard'), 1)
    await heard
    const seen = new Promise((resolve) => process.once('uncaughtException', resolve))
    setTimeout(throws('heard'), 1)
    console.log(String(await seen))
    await turn()
    await Promise.all([tree.stop(), other.stop()])
  `
  const end = await runProgram(t, program, ['--no-warnings'])
  assert.equal(lines(end.stdout), [
    'CADUCEUS_STRAY an error that belongs to nobody: Error: unheard',
    'Error: heard',
  ])
  assert.equal([end.code, end.stderr], [0, ''])
})

for (const mode of ['throw', 'strict', 'warn']) {
  test(`an unowned error of the main module is told once and ends Node: ${mode}`, async (t) => {
    const program = `${opening}
      told(({ kind, owner, outcome, error }) => console.log(kind, String(owner), outcome, error.message))
      throw new Error('of main')
    `
    const end = await runProgram(t, program, [`--unhandled-rejections=${mode}`])
    assert.equal(lines(end.stdout), ['rejection undefined exited of main'])
    assert.is(end.code, 1)
    assert.match(end.stderr, /^\nError: of main\n {4}at /)
  })
}

test('a main module that fails right after its last tree makes Node fail', async (t) => {
  const program = `${opening}
    await tree.stop()
    throw new Error('of main')
  `
  const end = await runProgram(t, program)
  assert.is.not(end.code, 0)
  assert.match(end.stderr, 'of main')
})

test('a once-listener of the host gets one rejection', async (t) => {
  const program = `${opening}
    told(({ error }) => console.log('told', error.message))
    process.once('uncaughtException', (error) => console.log('host', error.message))
    for (const message of ['one', 'two']) {
      Promise.reject(new Error(message))
      await turn()
    }
    await tree.stop()
  `
  const end = await runProgram(t, program)
  assert.equal(lines(end.stdout).sort(), ['host one', 'told one', 'told two'])
})

test('host handlers receive errors too, also owned ones', async (t) => {
  const program = `${opening}
    process.on('uncaughtException', (error) => console.log('host, thrown:', error.message))
    process.on('unhandledRejection', (error) => console.log('host, rejected:', error.message))
    for (const fn of [() => void setTimeout(throws('one'), 1), () => void Promise.reject(new Error('two'))]) {
      await tasks.start(() => (fn(), new Promise(() => {}))).result.catch((error) => console.log('task', error.message))
    }
    await turn()
    Promise.reject(new Error('three'))
    await turn()
    await ask()
    await tree.stop()
  `
  const end = await runProgram(t, program)
  const expected = [
    'host, rejected: three',
    'host, rejected: two',
    'host, thrown: one',
    'neighbour answers',
    'task one',
    'task two',
  ]
  assert.equal(lines(end.stdout).sort(), expected)
  assert.is(end.code, 0)
})

for (const [what, logger, expected] of [
  ['as lines of the log', '', /stray error/],
  ['as warnings of Node', 'logger: false,', /an error that belongs to nobody/],
] as const)
  test(
    `a flood of unowned errors is reported in part, ${what}`,
    async (t) => {
      const program = `
      import { startSupervisor } from ${JSON.stringify(runtimeUrl)}
      const tree = await startSupervisor({ strategy: 'one_for_one', ${logger} })
      let left = 2_000
      const again = () => {
        left -= 1
        if (left > 0) setImmediate(again)
        else setTimeout(() => process.exit(0), 100)
        throw new Error('again')
      }
      setImmediate(again)
    `
      const { code, stderr } = await runProgram(t, program)
      const told = lines(stderr).filter((line) => expected.test(line))
      assert.is(code, 0)
      assert.ok(told.length > 10 && told.length < 1_000, `${told.length} of 2,000`)
    },
    patient,
  )

test(
  'a flood of subscriber errors is reported in part',
  async (t) => {
    const program = `${opening}
    told(throws('subscriber'))
    for (let i = 0; i < 2_000; i++) tasks.start(() => void setImmediate(throws('stray'))).result.catch(() => {})
    setTimeout(() => process.exit(0), 500)
  `
    const { stderr } = await runProgram(t, program)
    const found = lines(stderr).filter((line) => /a subscriber of runtime events failed/.test(line))
    assert.ok(found.length > 0 && found.length < 1_000, `${found.length} of 2,000`)
  },
  patient,
)

test('a host handler may end the process', async (t) => {
  const program = `${opening}
    process.on('uncaughtException', () => process.exit(3))
    tasks.start(() => void setTimeout(throws('mine'), 1))
  `
  assert.is((await runProgram(t, program)).code, 3)
})

test('after the last tree Node handles errors by default again', async (t) => {
  for (const last of [`setTimeout(throws('late throw'), 1)`, `Promise.reject(new Error('late rejection'))`]) {
    const end = await runProgram(t, `${opening}\nawait tree.stop()\nawait turn()\nawait turn()\n${last}`)
    assert.is(end.code, 1)
    assert.match(end.stderr, /late (throw|rejection)/)
  }
})

test('with --unhandled-rejections=strict a rejection fails its task once', async (t) => {
  const program = `${opening}
    told(({ owner, kind, outcome }) => console.log(owner, kind, outcome))
    const task = tasks.start(() => (Promise.reject(new Error('stray')), new Promise(() => {})))
    await task.result.catch((error) => console.log('task', error.message))
    await turn()
    await ask()
    await tree.stop()
  `
  const end = await runProgram(t, program, ['--unhandled-rejections=strict'])
  assert.equal(lines(end.stdout), ['task rejection failed', 'task stray', 'neighbour answers'])
  assert.is(end.code, 0)
})

test('a subscriber that always throws does not keep the process alive', async (t) => {
  const program = `${opening}
    told(throws('subscriber'))
    await tasks.start(() => (Promise.reject(new Error('stray')), new Promise(() => {}))).result.catch(() => {})
    for (let i = 0; i < 10; i++) await turn()
    await ask()
    await tree.stop()
  `
  const end = await runProgram(t, program)
  assert.equal(lines(end.stdout), ['neighbour answers'])
  assert.is(end.stderr.match(/CADUCEUS_SUBSCRIBER/g)?.length, 1)
  assert.is(end.code, 0)
})

/** The runtime as a bundle of its own, twice: as when two versions of a package are installed side by side. */
async function copies(t: TestContext): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'copies-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  t.after(stop)
  const outfiles = ['one.mjs', 'two.mjs'].map((name) => join(folder, name))
  for (const outfile of outfiles) {
    const entryPoints = [inRoot('runtime', 'index.ts')]
    await build({
      entryPoints,
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      external: ['pino'],
      logLevel: 'silent',
    })
  }
  return outfiles.map((outfile) => pathToFileURL(outfile).href)
}

test(
  'two library copies share one registration and attribute errors to owners',
  async (t) => {
    const [one, two] = await copies(t)
    const program = `
      import * as one from ${JSON.stringify(one)}
      import * as two from ${JSON.stringify(two)}
      const listeners = () => process.listenerCount('uncaughtException') + process.listenerCount('unhandledRejection')
      const strays = []
      one.subscribe('stray', ({ tree, owner, outcome }) => strays.push([tree, owner, outcome].join(' ')))
      const start = async (copy, name) => {
        const behaviour = copy.defineActor({
          name, init: () => 0,
          cast: { stray: () => void Promise.reject(new Error(name)), throw: () => void setTimeout(() => { throw new Error(name) }, 1) },
          call: { id: () => name },
        })
        const tree = await copy.startSupervisor({ strategy: 'one_for_one', logger: false, children: [copy.childSpec(behaviour)] })
        const child = async () => (await tree.children())[0].ref
        return { tree, child }
      }
      console.log(one.RuntimeError !== two.RuntimeError, listeners())
      const a = await start(one, 'a')
      const b = await start(two, 'b')
      console.log(listeners())
      for (const [{ child }, message] of [[a, 'stray'], [b, 'stray'], [a, 'throw'], [b, 'throw']]) {
        const ref = await child()
        const ended = new Promise((resolve) => ref.onExit(resolve))
        ref.cast(message)
        console.log((await ended).error.message)
      }
      console.log(await (await a.child()).call('id'), await (await b.child()).call('id'))
      await a.tree.stop()
      await new Promise((resolve) => setImmediate(resolve))
      const ref = await b.child()
      const ended = new Promise((resolve) => ref.onExit(resolve))
      ref.cast('stray')
      console.log((await ended).type, listeners())
      await b.tree.stop()
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
      console.log(listeners(), JSON.stringify(strays))
      const error = await a.tree.count().catch((error) => error)
      console.log(error instanceof two.CaduceusError, error instanceof two.RuntimeError, error.code)
    `
    const end = await runProgram(t, program)
    assert.is(end.stderr, '')
    const strays = ['1 a failed', '2 b failed', '1 a failed', '2 b failed', '2 b failed']
    assert.equal(lines(end.stdout), [
      ...['true 0', '2', 'a', 'b', 'a', 'b', 'a b', 'crash 2'],
      `0 ${JSON.stringify(strays)}`,
      'true false NOPROC',
    ])
  },
  patient,
)

test.run()
