// second tier: time
// time limit: 90 s
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { type Client, startClient } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import { gateway, startServer } from 'caduceus/server'
import { http, serveHttp, stdio } from 'caduceus/transports'
import { startAllowance } from '../../support/allowance.mjs'
import { inRoot } from '../../support/root.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('gateway: faults under load', { timeout: 80_000 })
const program = inRoot('.t', 'test', 'flows', 'gateway', '_counted-program.js')
const names = ['one', 'two', 'three'] as const
type Name = (typeof names)[number]

/** What became of a call. */
interface Outcome {
  readonly id: string
  readonly to: Name
  /** Between which moments it was under way. */
  readonly began: number
  readonly ended: number
  readonly error: unknown
}

/** Three programs behind a gateway, and eight sessions that call them all the time. */
async function begin(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'load-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const fileOf = (name: Name): string => join(folder, name)
  const clients = Object.fromEntries(
    names.map((name) => {
      const transport = stdio({
        command: process.execPath,
        args: [program, fileOf(name)],
        stopTimeout: 1_000,
      })
      return [name, startClient({ name, transport, logger: false, backoff: { base: 10, cap: 50 } })]
    }),
  ) as Record<Name, Client>
  t.after(() => Promise.all(names.map((name) => clients[name].close())))
  const each = { timeout: 1_000, breaker: false } as const
  const server = await startServer(gateway(clients, { servers: { one: each, two: each, three: each } }), {
    transport: serveHttp(),
    logger: false,
  })
  t.after(() => server.stop())
  const sessions = Array.from({ length: 8 }, (_, n) =>
    startClient({
      ...{ name: `session ${n}`, transport: http(String(server.url)), logger: false },
      era: n % 2 === 0 ? 'handshake' : 'modern',
    }),
  )
  t.after(() => Promise.all(sessions.map((client) => client.close())))
  await Promise.all(sessions.map((client) => client.ready()))
  const outcomes: Outcome[] = []
  const state = { isOver: false, shortest: Number.POSITIVE_INFINITY }
  // a test that has failed calls no more
  t.after(() => {
    state.isOver = true
  })
  const call = async (client: Client, to: Name, id: string): Promise<void> => {
    const began = performance.now()
    const error = await client.callTool(`${to}__write`, { id }).then(
      ({ text = '', isError }) => (text === id ? undefined : new Error(`${isError} ${text}`)),
      (cause: unknown) => cause,
    )
    outcomes.push({ id, to, began, ended: performance.now(), error })
  }
  const callers = sessions.flatMap((client, n) =>
    names.map(async (to) => {
      for (let i = 0; !state.isOver; i += 1) await call(client, to, `${n}-${to}-${i}`)
    }),
  )
  const lister = (async () => {
    while (!state.isOver) {
      const { tools } = await (sessions[0] as Client).listTools({ fresh: true })
      state.shortest = Math.min(state.shortest, tools.length)
      await sleep(50)
    }
  })()
  const stop = async (): Promise<readonly Outcome[]> => {
    state.isOver = true
    await Promise.all([...callers, lister])
    return outcomes
  }
  const pid = async (name: Name): Promise<number> =>
    Number((await sessions[1]?.callTool(`${name}__pid`))?.text)
  const written = (name: Name): readonly string[] =>
    readFileSync(fileOf(name), 'utf8').split('\n').filter(Boolean)
  return { server, sessions, stop, pid, written, state }
}

const faults = {
  'kill -9': (pid: number) => void process.kill(pid, 'SIGKILL'),
  'an end in order': (pid: number) => void process.kill(pid, 'SIGTERM'),
  async 'a freeze beyond the time of its calls'(pid: number) {
    process.kill(pid, 'SIGSTOP')
    await sleep(2_500)
    process.kill(pid, 'SIGCONT')
  },
} as const

test('each fault fails calls in that server only, with its cause, and repeats none', async (t) => {
  const load = await begin(t)
  const before = (await load.server.sessions()).map(({ id }) => id).sort()
  const windows: { name: Name; from: number; to: number }[] = []
  for (const [index, [fault, inflict]] of Object.entries(faults).entries()) {
    const name = names[index] as Name
    await sleep(500)
    const pid = await load.pid(name)
    const from = performance.now()
    await inflict(pid)
    const began = performance.now()
    const allowance = startAllowance(2_000)
    for (;;) {
      const answered = await load.pid(name).catch(() => undefined)
      if (answered !== undefined && (answered !== pid || fault.startsWith('a freeze'))) break
    }
    assert.ok(allowance.left() > 0, `${fault}: the next call works after ${performance.now() - began} ms`)
    windows.push({ name, from, to: performance.now() })
  }
  await sleep(500)
  const outcomes = await load.stop()
  const failed = outcomes.filter(({ error }) => error !== undefined)
  assert.ok(outcomes.length - failed.length > 300, `${outcomes.length} calls, ${failed.length} failed`)
  for (const { id, to, began, ended, error } of failed) {
    const isIn = windows.some(({ name, from, to: until }) => name === to && began <= until && ended >= from)
    assert.ok(isIn, `${id} failed without a fault of ${to}: ${error}`)
    assert.ok(error instanceof McpError, String(error))
    const { code, sent, retryable } = (error.data ?? {}) as {
      code?: string
      sent?: boolean
      retryable?: boolean
    }
    // that server read it while it ended in order, and said so itself
    if (error.message === 'The server is being stopped') {
      assert.equal([to, error.data], ['two', { retryable: true }])
      assert.not.ok(load.written(to).includes(id), `${id} was refused, and was done`)
      continue
    }
    assert.ok(
      code !== undefined && typeof sent === 'boolean' && typeof retryable === 'boolean',
      `${id}: ${error.message} ${JSON.stringify(error.data)}`,
    )
    if (!sent) assert.not.ok(load.written(to).includes(id), `${id} was not sent, and was done`)
  }
  for (const name of names) {
    const done = load.written(name)
    assert.is(new Set(done).size, done.length, `${name}: something was done twice`)
    const missing = outcomes.filter(
      ({ to, id, error }) => to === name && error === undefined && !done.includes(id),
    )
    assert.equal(missing, [], `${name}: answered, and not done`)
  }
  assert.is(load.state.shortest, 6)
  assert.equal((await load.server.sessions()).map(({ id }) => id).sort(), before)
})

test.run()
