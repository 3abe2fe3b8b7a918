// second tier: time
// time limit: 120 s
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { startClient, type StartClientOptions } from 'caduceus/client'
import { defineTool } from 'caduceus/server'
import { http } from 'caduceus/transports'
import { rejection } from '../client/_raw.js'
import { startTestServer } from '../server/_servers.js'
import { makeFolder } from '../support/folder.js'
import { heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('tasks of a server and its clients', { timeout: 30_000 })
const eras = ['handshake', 'modern'] as const

function client(t: TestContext, url: string, options: Partial<StartClientOptions>) {
  const started = startClient({
    transport: http(url),
    logger: false,
    backoff: { base: 10, cap: 50 },
    ...options,
  })
  t.after(() => started.close())
  return started
}

async function program(t: TestContext, name: string, ...args: readonly string[]) {
  const path = fileURLToPath(new URL(`./_task-${name}.js`, import.meta.url))
  const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  return { child, exited, line: String(line).trim() }
}

async function kill({ child, exited }: { child: ChildProcess; exited: Promise<unknown> }): Promise<void> {
  child.kill('SIGKILL')
  await exited
}

const works = defineTool({
  name: 'works',
  task: 'required',
  input: { type: 'object', properties: { id: { type: 'string' } } },
  async run({ id }, ctx) {
    const { content } = await ctx.elicit('name', {
      message: `Who wants ${id}?`,
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    })
    return `${id} of ${content?.name}`
  },
})

const ada = { onElicit: () => ({ action: 'accept', content: { name: 'Ada' } }) as const }

test('a call that is a task asks, is answered, and resolves like any other', async (t) => {
  const { url = '' } = await startTestServer(t, [works])
  for (const era of eras) {
    const caller = client(t, url, { era, ...ada })
    assert.is((await caller.callTool('works', { id: 'a' })).text, 'a of Ada')
    const { task } = await caller.tasks.start('works', { id: 'b' })
    assert.is((await caller.tasks.result(task?.taskId ?? '')).text, 'b of Ada')
    await caller.close()
  }
})

test('a rarely polled task uses notifications (2026-07-28)', async (t) => {
  const { url = '' } = await startTestServer(t, [works], { tasks: { pollInterval: 600_000 } })
  const caller = client(t, url, { era: 'modern', ...ada })
  assert.is((await caller.callTool('works', { id: 'a' })).text, 'a of Ada')
})

test('progress reaches the caller throughout the task where the revision allows', async (t) => {
  const gate = heard<void>()
  const counts = defineTool({
    name: 'counts',
    task: 'required',
    async run(_args, ctx) {
      await gate.next()
      for (let count = 1; count <= 3; count++) {
        ctx.progress(count, 3)
        await gate.next()
      }
      return 'counted'
    },
  })
  const { url = '' } = await startTestServer(t, [counts])
  const caller = client(t, url, {})
  const told = heard<number>()
  await caller.listTools()
  const call = caller.callTool('counts', {}, { onProgress: ({ progress }) => told.add(progress) })
  // until the client waits beside the task
  const again = setInterval(() => gate.add(), 100)
  t.after(() => clearInterval(again))
  assert.is((await call).text, 'counted')
  assert.ok(told.all.length > 0, 'no progress came')
})

test('aborting a call aborts the handler of its task', async (t) => {
  const ended = heard<void>()
  const begun = heard<void>()
  const endless = defineTool({
    name: 'endless',
    task: 'required',
    run(_args, ctx) {
      begun.add()
      return new Promise<string>(() => ctx.signal.addEventListener('abort', () => ended.add()))
    },
  })
  const { url = '' } = await startTestServer(t, [endless])
  for (const era of eras) {
    const caller = client(t, url, { era })
    const controller = new AbortController()
    const call = rejection(caller.callTool('endless', {}, { signal: controller.signal }))
    await begun.next()
    // the task has its id
    while (caller.inspect().inFlight > 0) await caller.ping()
    controller.abort()
    assert.is((await call).code, 'CANCELLED')
    await ended.next()
    await caller.close()
  }
})

test('a killed server loses no task of a file store, and each step runs once', async (t) => {
  for (const era of eras) {
    const folder = makeFolder(t)
    const first = await program(t, 'server', folder, '0', 'tasks')
    const { port } = new URL(first.line)
    const asked = heard<string>()
    const answers = heard<void>()
    const caller = client(t, first.line, {
      era,
      onElicit: async ({ message }) => {
        asked.add(message)
        await answers.next()
        return { action: 'accept', content: { name: 'Ada' } }
      },
    })
    const calls = ['a', 'b', 'c'].map((id) => caller.callTool('works', { id }, { timeout: 25_000 }))
    for (const _ of calls) await Promise.race([asked.next(), Promise.all(calls)])
    await kill(first)
    const second = await program(t, 'server', folder, port, 'tasks')
    const again = setInterval(() => answers.add(), 50)
    t.after(() => clearInterval(again))
    assert.equal(
      (await Promise.all(calls)).map(({ text }) => text),
      ['a of Ada', 'b of Ada', 'c of Ada'],
    )
    clearInterval(again)
    const lines = readFileSync(join(folder, 'log.txt'), 'utf8').trim().split('\n').sort()
    assert.equal(lines, ['first a', 'first b', 'first c', 'second a', 'second b', 'second c'])
    await caller.close()
    await kill(second)
  }
})

test('a killed server with memory tasks reports them as lost', async (t) => {
  for (const era of eras) {
    const folder = makeFolder(t)
    const first = await program(t, 'server', folder)
    const { port } = new URL(first.line)
    const asked = heard<string>()
    const caller = client(t, first.line, {
      era,
      onElicit: ({ message }) => {
        asked.add(message)
        return new Promise<never>(() => {})
      },
    })
    const call = rejection(caller.callTool('works', { id: 'a' }, { timeout: 25_000 }))
    await asked.next()
    await kill(first)
    const second = await program(t, 'server', folder, port)
    const error = await call
    assert.is(error.code, 'TASK_LOST')
    assert.is(error.retryable, true)
    assert.type((error.data as { taskId: unknown }).taskId, 'string')
    await caller.close()
    await kill(second)
  }
})

test('another program continues the task of a killed client', async (t) => {
  const folder = makeFolder(t)
  for (const era of eras) {
    const server = await program(t, 'server', folder, '0', `tasks-${era}`)
    const first = await program(t, 'client', server.line, era)
    await kill(first)
    const second = client(t, server.line, { era, ...ada })
    assert.is((await second.tasks.get(first.line)).taskId, first.line)
    assert.is((await second.tasks.adopt(first.line, { timeout: 25_000 })).text, 'a of Ada')
    await second.close()
    await kill(server)
  }
})

test(
  'a thousand tasks at once',
  async (t) => {
    const gate = heard<void>()
    const held = defineTool({
      name: 'held',
      task: 'required',
      input: { type: 'object', properties: { n: { type: 'integer' } } },
      run: ({ n }) => opened.then(() => String(n)),
    })
    const opened = gate.next()
    const { url = '' } = await startTestServer(t, [held])
    const caller = client(t, url, { era: 'modern' })
    const calls = Array.from({ length: 1_000 }, (_, n) =>
      caller.callTool('held', { n }, { timeout: 100_000 }),
    )
    setTimeout(() => gate.add(), 1_000)
    const texts = await Promise.all(calls.map(async (call) => (await call).text))
    assert.equal(
      texts,
      Array.from({ length: 1_000 }, (_, n) => String(n)),
    )
  },
  { timeout: 60_000 },
)

test.run()
