// second tier: time
// time limit: 120 s
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import * as assert from 'uvu/assert'
import { type Heard, heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { rawServer } from '../_raw.js'
import { socketPath, usePeer } from './_share.js'

const test = suite('shared clients, several processes', { timeout: 40_000 })

const ownerProgram = fileURLToPath(new URL('./_owner.js', import.meta.url))
const peerProgram = fileURLToPath(new URL('./_peer.js', import.meta.url))

interface News {
  readonly id?: number
  readonly text?: string
  readonly progress?: readonly number[]
  readonly code?: string
  readonly sent?: boolean
  readonly retryable?: boolean
  readonly message?: string
  readonly phase?: string
  readonly pid?: number
  readonly said?: string
}

interface Program {
  readonly process: ChildProcess
  readonly news: Heard<News>
  readonly ended: Promise<unknown>
  order(id: number, tool: string, args?: object): void
  answer(id: number): Promise<News>
}

/** Starts a program, which is killed with the test if it still runs. */
function run(t: TestContext, program: string, ...args: readonly string[]): Program {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const news = heard<News>()
  createInterface({ input: child.stdout }).on('line', (line) => news.add(JSON.parse(line) as News))
  return {
    process: child,
    news,
    ended,
    order: (id, tool, args) => void child.stdin.write(`${JSON.stringify({ id, tool, args })}\n`),
    answer: (id) => news.next((one) => one.id === id),
  }
}

async function owner(t: TestContext, path: string): Promise<Program & { readonly pid: number }> {
  const program = run(t, ownerProgram, rawServer, path)
  const { pid = 0 } = await program.news.next((one) => one.pid !== undefined)
  return { ...program, pid }
}

test('S026: another process calls a client by name, and both processes exit', async (t) => {
  const path = socketPath(t)
  const { pid, process: first, ended } = await owner(t, path)
  const peer = run(t, peerProgram, path)
  peer.order(1, 'pid')
  assert.is((await peer.answer(1)).text, String(pid))
  peer.process.stdin?.end()
  assert.equal(await peer.ended, [0, null])
  first.stdin?.end()
  assert.equal(await ended, [0, null])
  assert.not(existsSync(path))
})

test('100 concurrent calls of two processes get their own answers and progress', async (t) => {
  const path = socketPath(t)
  const peers = [run(t, peerProgram, path), run(t, peerProgram, path)]
  await owner(t, path) // it comes last: the others wait for it
  for (let n = 1; n <= 50; n++)
    for (const [which, peer] of peers.entries()) {
      peer.order(n, 'progress', { steps: [n, n + 100 * (which + 1)] })
      peer.order(n + 1_000, 'echo', { text: `${which} ${n}` })
    }
  for (const [which, peer] of peers.entries()) {
    const answers = new Map<number, News>()
    while (answers.size < 100) {
      const one = await peer.news.next(({ id }) => id !== undefined)
      answers.set(one.id ?? 0, one)
    }
    for (let n = 1; n <= 50; n++) {
      assert.equal(answers.get(n)?.progress, [n, n + 100 * (which + 1)])
      assert.is(answers.get(n + 1_000)?.text, `${which} ${n}`)
    }
  }
})

test('a program killed during a call loses that call and disturbs no other', async (t) => {
  const path = socketPath(t)
  const { news } = await owner(t, path)
  const [victim, other] = [run(t, peerProgram, path), run(t, peerProgram, path)]
  victim.order(1, 'hang')
  await news.next(({ said }) => said === 'got tools/call hang')
  other.order(1, 'late', { after: 100 })
  await news.next(({ said }) => said === 'got tools/call late')
  victim.process.kill('SIGKILL')
  await news.next(({ said }) => said === 'got notifications/cancelled')
  assert.is((await other.answer(1)).text, 'too late')
})

test('a killed owner rejects calls at once, and programs reconnect to the next owner', async (t) => {
  const path = socketPath(t)
  const first = await owner(t, path)
  const peers = [run(t, peerProgram, path), run(t, peerProgram, path)]
  for (const peer of peers) {
    peer.order(1, 'hang')
    await first.news.next(({ said }) => said === 'got tools/call hang')
  }
  first.process.kill('SIGKILL')
  for (const peer of peers) {
    const { code, sent, retryable } = await peer.answer(1)
    assert.equal([code, sent, retryable], ['CONNECTION_LOST', true, true])
    peer.order(2, 'pid')
  }
  assert.ok(existsSync(path))
  const { pid } = await owner(t, path)
  assert.is.not(pid, first.pid)
  for (const peer of peers) assert.is((await peer.answer(2)).text, String(pid))
})

test('one of four processes takes over the socket of a dead one', async (t) => {
  const path = socketPath(t)
  const dead = await owner(t, path)
  dead.process.kill('SIGKILL')
  await dead.ended
  const programs = [1, 2, 3, 4].map(() => run(t, ownerProgram, rawServer, path))
  const outcomes = await Promise.all(
    programs.map(({ news }) => news.next(({ pid, code }) => pid !== undefined || code !== undefined)),
  )
  const [winner, ...others] = outcomes.flatMap(({ pid }) => (pid === undefined ? [] : [pid]))
  assert.equal(others, [])
  assert.is(outcomes.filter(({ code }) => code === 'LISTEN_FAILED').length, 3)
  assert.is((await usePeer(t, path).client.callTool('pid')).text, String(winner))
})

test('a worker uses the client of its own process, or of another', async (t) => {
  const path = socketPath(t)
  const { pid } = await owner(t, path)
  const worker = new Worker(new URL('./_worker.js', import.meta.url), { workerData: { path } })
  const ended = once(worker, 'exit')
  const [text] = await once(worker, 'message')
  assert.is(text, String(pid))
  assert.equal(await ended, [0])
})

test('a stopped process delays no other and continues where it was', async (t) => {
  const path = socketPath(t)
  const { news } = await owner(t, path)
  const stopped = run(t, peerProgram, path)
  stopped.order(1, 'late', { after: 200 })
  await news.next(({ said }) => said === 'got tools/call late')
  stopped.process.kill('SIGSTOP')
  const { client } = usePeer(t, path)
  for (let n = 0; n < 20; n++) assert.is((await client.callTool('echo', { text: 'on' })).text, 'on')
  await client.callTool('late', { after: 200 })
  stopped.process.kill('SIGCONT')
  assert.is((await stopped.answer(1)).text, 'too late')
})

test.run()
