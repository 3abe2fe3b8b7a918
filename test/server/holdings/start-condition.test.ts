import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { childSpec, defineActor, Registry, type RuntimeError, startSupervisor } from 'caduceus/runtime'
import { defineServer, Server, serverSpec, type StartCondition } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { count, startTestServer } from '../_servers.js'

const test = suite('start of a server')
const definition = defineServer({ name: 'test', version: '1.0.0', tools: [count] })
const variable = 'CADUCEUS_SERVER'

function setVariable(t: Pick<TestContext, 'after'>, value: string | undefined): void {
  const before = process.env[variable]
  const put = (to: string | undefined) => {
    if (to === undefined) delete process.env[variable]
    else process.env[variable] = to
  }
  put(value)
  t.after(() => put(before))
}

test('the condition function runs at each start with every variable', async (t) => {
  const name = 'SOME_HOST_SERVES'
  t.after(() => delete process.env[name])
  const start = () => process.env[name] === 'yes'
  assert.is((await rejection(startTestServer(t, [count], { start }))).code, 'IGNORED')
  process.env[name] = 'yes'
  const server = await startTestServer(t, [count], { start })
  assert.is(await (await new RawClient(t, server.url).open()).text('count'), '1')
})

test('an unwanted server rejects with IGNORED and takes no port', async (t) => {
  setVariable(t, '0')
  const other = await startTestServer(t, [count], { start: true })
  const { port } = other
  const error = await rejection(startTestServer(t, [count], { http: { port: port ?? 0 } }))
  assert.equal([error.code, /CADUCEUS_SERVER/.test(error.message)], ['IGNORED', true])
})

test('below a supervisor it is an ignored child that can be started later', async (t) => {
  let wanted = false
  const sibling = defineActor({ name: 'sibling', init: () => 0 })
  const tree = await startSupervisor({
    strategy: 'one_for_one',
    logger: false,
    children: [
      serverSpec(definition, { transport: serveHttp(), start: () => wanted }),
      childSpec(sibling, undefined),
    ],
  })
  t.after(() => tree.stop())
  const shown = (await tree.children()).map(({ id, ref }) => [id, ref?.alive])
  assert.equal(shown.sort(), [
    ['sibling', true],
    ['test', undefined],
  ])
  wanted = true
  const { extra } = await tree.restartChild('test')
  assert.ok(extra instanceof Server)
  assert.is(await (await new RawClient(t, extra.url).open()).text('count'), '1')
})

test('a function that throws or does not answer fails the start and nothing else', async (t) => {
  const thrown = new Error('no idea')
  const broken: [StartCondition, (error: unknown) => boolean][] = [
    [
      () => {
        throw thrown
      },
      (error) => error === thrown,
    ],
    [(() => Promise.resolve(true)) as unknown as StartCondition, (error) => codeOf(error) === 'BAD_OPTION'],
    ['yes' as unknown as StartCondition, (error) => codeOf(error) === 'BAD_OPTION'],
  ]
  for (const [start, fits] of broken) assert.ok(fits(await rejection(startTestServer(t, [count], { start }))))
})

test('a name that is taken is refused with the handle of the server that has it', async (t) => {
  const registry = new Registry()
  const first = await startTestServer(t, [count], { registry })
  const error = await rejection(startTestServer(t, [count], { registry }))
  assert.is(error.code, 'ALREADY_STARTED')
  const { server, ref } = error.data as { server: Server; ref: unknown }
  assert.ok(server instanceof Server && ref === first.ref)
  assert.equal([server.name, server.url, server.ref], ['test', first.url, first.ref])
  assert.is(await (await new RawClient(t, server.url).open()).text('count'), '1')
  const another = await startTestServer(t, [count], { registry, name: 'another' })
  assert.is.not(another.port, first.port)
  await server.stop()
  assert.not.ok(first.ref.alive)
  assert.ok((await startTestServer(t, [count], { registry })).ref.alive)
})

test('of two concurrent starts one is refused with the other handle', async (t) => {
  const registry = new Registry()
  const outcomes = await Promise.allSettled([
    startTestServer(t, [count], { registry }),
    startTestServer(t, [count], { registry }),
  ])
  const started = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  assert.equal([started.length, refused.map(({ code }) => code)], [1, ['ALREADY_STARTED']])
  assert.is((refused[0]?.data as { server?: Server } | undefined)?.server?.url, started[0]?.url)
})

test('a second server of a name below one supervisor fails with the first handle', async (t) => {
  const tree = await startSupervisor({
    strategy: 'one_for_one',
    logger: false,
    children: [serverSpec(definition, { transport: serveHttp() })],
  })
  t.after(() => tree.stop())
  const second = serverSpec(definition, { transport: serveHttp() }, { id: 'second', restart: 'temporary' })
  const error = await rejection(tree.startChild(second))
  const cause = error.cause as RuntimeError
  assert.equal([error.code, cause.code], ['START_FAILED', 'ALREADY_STARTED'])
  assert.ok((cause.data as { server: Server }).server instanceof Server)
})

test('a stdio server starts whatever option and environment say', async (t) => {
  const program = fileURLToPath(new URL('../_unwanted-program.js', import.meta.url))
  const env = { ...process.env, [variable]: '0' }
  const child = spawn(process.execPath, [program], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
  const [answer] = await once(child.stdout, 'data')
  assert.equal(JSON.parse(String(answer)), { jsonrpc: '2.0', id: 1, result: {} })
  child.stdin.end()
  assert.is((await exited)[0], 0)
})

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code
}

async function rejection(promise: Promise<unknown>): Promise<RuntimeError> {
  try {
    await promise
  } catch (error) {
    return error as RuntimeError
  }
  throw new Error('expected a rejection')
}

test.run()
