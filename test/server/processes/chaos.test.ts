// second tier: time
import * as assert from 'uvu/assert'
import { type Client, ClientError, startClient } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import { RuntimeError } from 'caduceus/runtime'
import { startServer } from 'caduceus/server'
import { http, serveHttp } from 'caduceus/transports'
import { suite } from '../../support/suite.js'

const test = suite('server processes under fire', { timeout: 120_000 })
const module = new URL('./_server.js', import.meta.url)

/** What became of one call. */
interface Outcome {
  readonly entry: string
  readonly how: 'done' | 'not sent' | 'unknown'
}

test('no acknowledged change is lost when processes are killed or frozen', async (t) => {
  const server = await startServer(module, {
    transport: serveHttp(),
    processes: 3,
    blockedTimeout: 500,
    logger: false,
  })
  t.after(() => server.stop())
  const clients = Array.from({ length: 6 }, (_, index) =>
    startClient({
      transport: http(String(server.url)),
      name: `client ${index}`,
      logger: false,
    }),
  )
  t.after(() => Promise.all(clients.map((client) => client.close())))
  let on = true
  const worked = clients.map(async (client, index) => {
    const outcomes: Outcome[] = []
    while (on) {
      const entry = `${index}.${outcomes.length}`
      outcomes.push({ entry, how: await append(client, entry) })
    }
    return outcomes
  })
  let hits = 0
  const until = performance.now() + 15_000
  while (performance.now() < until) {
    const pids = await Promise.all(
      clients.map((client) => client.callTool('pid').then(({ text }) => Number(text))),
    ).catch(() => [])
    const pid = pids[hits % Math.max(1, pids.length)]
    if (pid === undefined) continue
    try {
      process.kill(pid, hits % 2 === 0 ? 'SIGKILL' : 'SIGSTOP')
      hits += 1
    } catch {
      // it has ended meanwhile
    }
    await new Promise((resolve) => setTimeout(resolve, 700))
  }
  on = false
  let done = 0
  for (const [index, outcomes] of (await Promise.all(worked)).entries()) {
    const { text } = await read(clients[index] as Client)
    const kept = JSON.parse(String(text)) as string[]
    assert.is(new Set(kept).size, kept.length, 'no entry is there twice')
    for (const { entry, how } of outcomes) {
      if (how === 'done') assert.ok(kept.includes(entry), `${entry} was acknowledged, and is lost`)
      if (how === 'not sent') assert.not(kept.includes(entry), `${entry} was not sent, and is there`)
    }
    done += outcomes.filter(({ how }) => how === 'done').length
  }
  assert.ok(hits > 3 && done > 20, `${hits} hits, ${done} calls`)
})

/** Reading is harmless: it is done again until it is answered. */
async function read(client: Client): Promise<{ readonly text: string | undefined }> {
  for (;;) {
    const answer = await client.callTool('list').catch(() => undefined)
    if (answer !== undefined) return answer
  }
}

async function append(client: Client, entry: string): Promise<Outcome['how']> {
  try {
    await client.callTool('append', { entry })
    return 'done'
  } catch (error) {
    if (!(error instanceof ClientError || error instanceof McpError || error instanceof RuntimeError))
      throw error
    return (error.data as { sent?: boolean } | undefined)?.sent === false ? 'not sent' : 'unknown'
  }
}

test.run()
