// second tier: time
// time limit: 120 s
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { http } from 'caduceus/transports'
import { makeFolder } from '../support/folder.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('restart of the whole program', { timeout: 40_000 })
const program = fileURLToPath(new URL('./_restart-program.js', import.meta.url))
const key = 'a secret of the tests, and of nobody else'
/** Answers that each client is to have before a kill, and again after it. */
const enough = 15

/** What the tool answers. */
interface Counted {
  readonly count: number
  readonly session: {
    readonly id: string
    readonly client: { readonly name: string }
    readonly revision: string
  }
}

/** One client under load. */
interface Caller {
  readonly name: string
  call(): Promise<string>
  /** HTTP statuses it has seen; empty where they are not to be seen. */
  readonly statuses: number[]
}

const clients = [officialV1, officialV2, own]

for (const how of ['files', 'sealed'] as const) {
  test(`restarted under load with ${how}, every session continues`, async (t) => {
    const stored = how === 'files'
    const args = [how, stored ? makeFolder(t) : key]
    let server = await startProgram(t, ['0', ...args])
    const url = `http://127.0.0.1:${server.port}/mcp`
    const load = new Load(t)
    for (const connect of [...clients, ...clients]) load.add(await connect(t, url))
    for (let kills = 0; kills < 2; kills++) {
      await load.moreAnswers(enough)
      await server.kill()
      server = await startProgram(t, [String(server.port), ...args])
      await load.moreAnswers(enough)
    }
    await load.stop()
    for (const { name, answers, statuses } of load.callers) {
      assert.is(
        new Set(answers.map(({ session }) => JSON.stringify(session))).size,
        1,
        `${name}: one session`,
      )
      assert.ok(
        answers.every(({ session }) => session.client.name === name && session.revision === '2025-11-25'),
      )
      assert.not.ok(statuses.includes(404), `${name}: ${statuses}`)
      assert.is(await statusFor(url, answers[0]?.session.id, `Bearer not ${name}`), 404)
      assert.is(await statusFor(url, answers[0]?.session.id, `Bearer ${name}`), 202)
      // what was answered is never taken back; a call that was not answered may have counted
      if (stored)
        assert.ok(isRising(answers.map(({ count }) => count)), `${name}: ${answers.map((a) => a.count)}`)
    }
  })
}

/** Calls without end until it is stopped; what a dead server does not answer is called again. */
class Load {
  readonly callers: (Caller & { readonly answers: Counted[] })[] = []
  readonly #loops: Promise<void>[] = []
  readonly #changed = new Set<() => void>()
  #stopped = false

  constructor(t: TestContext) {
    t.signal.addEventListener('abort', () => void this.stop())
  }

  add(caller: Caller): void {
    const busy = { ...caller, answers: [] as Counted[] }
    this.callers.push(busy)
    this.#loops.push(this.#run(busy))
  }

  /** Resolves once every client has had that many answers more. */
  async moreAnswers(more: number): Promise<void> {
    const before = this.callers.map(({ answers }) => answers.length)
    const isDone = () =>
      this.callers.every(({ answers }, index) => answers.length >= (before[index] ?? 0) + more)
    while (!isDone() && !this.#stopped) await new Promise<void>((resolve) => this.#changed.add(resolve))
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#tell()
    await Promise.all(this.#loops)
  }

  async #run({ call, answers }: Caller & { readonly answers: Counted[] }): Promise<void> {
    while (!this.#stopped) {
      const answer = await call().catch(() => undefined)
      if (answer === undefined) await new Promise((resolve) => setTimeout(resolve, 20))
      else answers.push(JSON.parse(answer))
      this.#tell()
    }
  }

  #tell(): void {
    const waiting = [...this.#changed]
    this.#changed.clear()
    for (const wake of waiting) wake()
  }
}

async function startProgram(t: TestContext, args: readonly string[]) {
  const child: ChildProcess = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  const [port] = await Promise.race([once(lines, 'line'), exited.then(() => ['0'])])
  if (port === '0') throw new Error('the program has ended')
  return {
    port: Number(port),
    async kill() {
      child.kill('SIGKILL')
      assert.equal((await exited)[1], 'SIGKILL')
    },
  }
}

async function own(t: TestContext, url: string): Promise<Caller> {
  const clientInfo = { name: 'own', version: '1' }
  const backoff = { base: 20, cap: 100 }
  const transport = http(url, { headers: { authorization: 'Bearer own' } })
  const client = startClient({ transport, clientInfo, backoff, logger: false })
  t.after(() => client.close())
  await client.ready({ timeout: 60_000 })
  return { name: 'own', statuses: [], call: async () => (await client.callTool('count')).text }
}

async function officialV1(t: TestContext, url: string): Promise<Caller> {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js' as string)
  const { StreamableHTTPClientTransport } = await import(
    '@modelcontextprotocol/sdk/client/streamableHttp.js' as string
  )
  return connectOfficial(t, { name: 'v1', Client, Transport: StreamableHTTPClientTransport, url })
}

async function officialV2(t: TestContext, url: string): Promise<Caller> {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client' as string)
  return connectOfficial(t, { name: 'v2', Client, Transport: StreamableHTTPClientTransport, url })
}

/** What these tests use of an official client. */
interface Official {
  connect(transport: object): Promise<void>
  callTool(params: object): Promise<{ content: { text: string }[] }>
  close(): Promise<void>
}

async function connectOfficial(
  t: TestContext,
  parts: {
    readonly name: string
    readonly Client: new (info: object) => Official
    readonly Transport: new (url: URL, options: object) => object
    readonly url: string
  },
): Promise<Caller> {
  const { name, Client, Transport, url } = parts
  const statuses: number[] = []
  const watched = async (...args: Parameters<typeof fetch>): Promise<Response> => {
    const response = await fetch(...args)
    statuses.push(response.status)
    return response
  }
  const client = new Client({ name, version: '1' })
  const requestInit = { headers: { authorization: `Bearer ${name}` } }
  await client.connect(new Transport(new URL(url), { fetch: watched, requestInit }))
  t.after(() => client.close())
  const call = async () => {
    const { content } = await client.callTool({ name: 'count' })
    return String(content[0]?.text)
  }
  return { name, statuses, call }
}

/** What whoever says that they are this one is answered in a session. */
async function statusFor(url: string, sessionId: unknown, authorization: string): Promise<number> {
  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-session-id': String(sessionId),
    authorization,
  }
  const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return (await fetch(url, { method: 'POST', headers, body })).status
}

function isRising(counts: readonly number[]): boolean {
  return counts.every((count, index) => index === 0 || count > (counts[index - 1] ?? 0))
}

test.run()
