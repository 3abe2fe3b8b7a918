// second tier: time
// time limit: 60 s
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { defineServer, ServerError, startServer } from 'caduceus/server'
import { http, memory } from 'caduceus/transports'
import { stopOnSignals } from '../../../server/base/signals.js'
import { eventually } from '../nodes/_servers.js'
import { heard } from '../../support/heard.js'
import { inRoot } from '../../support/root.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('server signals', { timeout: 20_000 })

type Program = ChildProcessByStdio<null, Readable, Readable>

async function start(t: TestContext, how: string, tool: string) {
  const program = inRoot('.t', 'test', 'server', '_signals-program.js')
  const child: Program = spawn(process.execPath, [program, how], { stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  const logged: string[] = []
  createInterface(child.stderr).on('line', (line) => logged.push(line))
  const lines: string[] = []
  const reader = createInterface(child.stdout).on('line', (line) => lines.push(line))
  const [url] = await once(reader, 'line')
  const client = startClient({ transport: http(url), logger: false })
  t.after(() => client.close())
  const call = client.callTool(tool)
  call.catch(() => {})
  while (!lines.includes('working')) await once(reader, 'line')
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, lines }))
  return { child, call, ended, logged }
}

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  test(`${signal} lets calls finish, runs the hooks, and ends the program with 0`, async (t) => {
    const { child, call, ended } = await start(t, 'on', 'slow')
    child.kill(signal)
    assert.is((await call).text, 'done')
    const { code, lines } = await ended
    assert.is(code, 0)
    assert.ok(lines.includes('session ended'), lines.join(', '))
  })

test('what a listener of onExit closes is waited for', async (t) => {
  const { child, ended } = await start(t, 'closing', 'slow')
  child.kill('SIGTERM')
  const { code, lines } = await ended
  assert.equal([code, lines.at(-1)], [0, 'closed'])
})

test('work left by a tool does not change exit code 0', async (t) => {
  const { child, call, ended } = await start(t, 'on', 'careless')
  assert.match(await call.then(({ text }) => text, String), /done|report/)
  child.kill('SIGTERM')
  const { code, signal } = await ended
  assert.equal([code, signal], [0, null])
})

test('signal handlers stop each server once, failures too, then unregister', async (t) => {
  const own = () => {}
  process.on('SIGTERM', own) // the signal is its own affair: the program goes on
  t.after(() => process.off('SIGTERM', own))
  let stops = 0
  const undo = [false, true].map((fails) =>
    stopOnSignals({
      async stop() {
        stops += 1
        if (fails) throw new Error('failed')
      },
      hangUp: async () => {},
      endsOnHangUp: false,
    }),
  )
  assert.equal([process.listenerCount('SIGTERM'), process.listenerCount('SIGINT')], [2, 1])
  process.emit('SIGTERM', 'SIGTERM')
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal([stops, process.listenerCount('SIGTERM'), process.listenerCount('SIGINT')], [2, 1, 0])
  for (const one of undo) one()
})

test('a second signal ends the program at once', async (t) => {
  const { child, ended } = await start(t, 'on', 'endless')
  child.kill('SIGTERM')
  child.kill('SIGINT')
  const { code } = await ended
  // whichever of the two is delivered last
  assert.ok(code === 130 || code === 143, String(code))
})

test('a host that handles the signal decides when to exit', async (t) => {
  const { child, call, ended } = await start(t, 'host', 'slow')
  child.kill('SIGTERM')
  assert.is((await call).text, 'done')
  assert.is((await ended).code, 7)
})

test('many servers of one program listen once for each signal', (t) => {
  const reloads = heard<number>()
  const undo = Array.from({ length: 12 }, (_, index) =>
    stopOnSignals({
      stop: async () => {},
      hangUp: async () => reloads.add(index),
      endsOnHangUp: false,
    }),
  )
  t.after(() => {
    for (const one of undo) one()
  })
  const counts = ['SIGTERM', 'SIGINT', 'SIGHUP'].map((signal) => process.listenerCount(signal))
  assert.equal(counts, [1, 1, 1])
  process.emit('SIGHUP', 'SIGHUP')
  assert.is(reloads.all.length, 12)
})

test('without a terminal SIGHUP ends no program, and the log says no reload happens', async (t) => {
  const { child, call, logged } = await start(t, 'on', 'slow')
  child.kill('SIGHUP')
  assert.is((await call).text, 'done')
  await eventually(() => logged.some((line) => line.includes('SIGHUP: nothing is reloaded')))
  assert.is(child.exitCode ?? child.signalCode, null)
})

test('with a terminal SIGHUP stops the server in order and exits with 0', async (t) => {
  const { child, call, ended } = await start(t, 'terminal', 'slow')
  child.kill('SIGHUP')
  assert.is((await call).text, 'done')
  const { code, lines } = await ended
  assert.is(code, 0)
  assert.ok(lines.includes('session ended'), lines.join(', '))
})

test('a terminal program with its own SIGHUP handler goes on', async (t) => {
  const own = (): void => {}
  process.on('SIGHUP', own)
  t.after(() => process.off('SIGHUP', own))
  let stops = 0
  const undo = stopOnSignals({
    async stop() {
      stops += 1
    },
    hangUp: async () => {},
    endsOnHangUp: true,
  })
  process.emit('SIGHUP', 'SIGHUP')
  await new Promise((resolve) => setImmediate(resolve))
  assert.is(stops, 0)
  undo()
  assert.equal(process.listeners('SIGHUP'), [own])
})

test('with signals: false signals are ignored', async (t) => {
  const { child, ended } = await start(t, 'off', 'endless')
  child.kill('SIGTERM')
  assert.is((await ended).signal, 'SIGTERM')
})

test('a stopped server removes its signal handlers', async (t) => {
  const before = process.listenerCount('SIGTERM')
  const definition = defineServer({ name: 'short', version: '1.0.0' })
  const servers = await Promise.all(
    ['a', 'b'].map((name) => startServer(definition, { name, transport: memory().serve, logger: false })),
  )
  t.after(() => Promise.all(servers.map((server) => server.stop())))
  assert.is(process.listenerCount('SIGTERM'), before + 1)
  for (const server of servers) await server.stop()
  assert.is(process.listenerCount('SIGTERM'), before)
})

test('signals is true or false', async () => {
  const definition = defineServer({ name: 'wrong', version: '1.0.0' })
  await startServer(definition, { transport: memory().serve, signals: 'no' as never }).then(
    () => assert.unreachable(),
    (error) =>
      assert.ok(error instanceof ServerError && /^signals: expected true or false/.test(error.message)),
  )
})

test.run()
