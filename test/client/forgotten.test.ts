import * as assert from 'uvu/assert'
import { clientSpec, findClient, startClient } from 'caduceus/client'
import { isRequest } from 'caduceus/protocol'
import { Registry, startSupervisor } from 'caduceus/runtime'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import {
  type ClientTransport,
  http,
  type Link,
  memory,
  serveHttp,
  serveSse,
  serveWebSocket,
  sse,
  stdio,
  websocket,
} from 'caduceus/transports'
import { stillThere } from '../support/collected.js'
import { suite, type TestContext } from '../support/suite.js'
import { rawServer } from './_raw.js'

const test = suite('what is left of a client', { timeout: 20_000 })

// Without a scope: that would hold what is to be gone.
function noop(): void {}

/** What others keep alive for good: a server's handler begins a timer that nobody ends. */
const timers: NodeJS.Timeout[] = []

function definition() {
  const greet = defineTool({
    name: 'greet',
    async run(_, ctx) {
      timers.push(setTimeout(noop, 1_000_000))
      const answer = await ctx.elicit('who', {
        message: 'who?',
        requestedSchema: { type: 'object', properties: {} },
      })
      return answer.action
    },
  })
  return defineServer({ name: 'greeter', version: '1', tools: { greet } })
}

/** Uses a client in a tree of its own, and answers what has to be gone once nobody holds it. */
async function use(
  t: TestContext,
  transport: ClientTransport,
  tool: string,
): Promise<Record<string, WeakRef<object>>> {
  t.after(() => timers.splice(0).forEach(clearTimeout))
  const registry = new Registry()
  const handler = { onElicit: () => ({ action: 'accept', content: {} }) as const }
  const spec = clientSpec({ name: 'one', transport, ...handler })
  const tree = await startSupervisor({ strategy: 'one_for_one', registry, children: [spec], logger: false })
  const client = await findClient(registry, 'one')
  client.onState(() => {
    timers.push(setTimeout(noop, 1_000_000))
  })
  await client.callTool(tool, { text: 'a' })
  await client.close()
  await tree.stop()
  const weak = { registry, handler, spec, tree, client }
  return Object.fromEntries(Object.entries(weak).map(([name, thing]) => [name, new WeakRef<object>(thing)]))
}

for (const [type, serve, connect] of [
  ['http', serveHttp, http],
  ['sse', serveSse, sse],
  ['websocket', serveWebSocket, websocket],
] as const) {
  test(`whatever outlives a client keeps no hold on it: ${type}`, async (t) => {
    const server = await startServer(definition(), { transport: serve(), logger: false })
    t.after(() => server.stop())
    assert.equal(await stillThere(await use(t, connect(server.url ?? ''), 'greet')), [])
  })
}

test.slow('whatever outlives a client keeps no hold on it: stdio', async (t) => {
  const transport = stdio({ command: process.execPath, args: [rawServer], stderr: 'ring' })
  assert.equal(await stillThere(await use(t, transport, 'echo')), [])
})

test('whatever outlives a server and its client keeps no hold on them: memory', async (t) => {
  const once = async (): Promise<Record<string, WeakRef<object>>> => {
    const { serve, connect } = memory()
    const registry = new Registry()
    const made = definition()
    const server = await startServer(made, { transport: serve, registry, logger: false })
    const weak = await use(t, connect, 'greet')
    await server.stop()
    const own = { server: new WeakRef(server), made: new WeakRef(made), names: new WeakRef(registry) }
    return { ...weak, ...own }
  }
  assert.equal(await stillThere(await once()), [])
})

/** Connects at once, to a server that answers everything with its greeting. */
function watched(links: WeakRef<object>[]): ClientTransport['connect'] {
  const serverInfo = { name: 'watched', version: '1' }
  const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo }
  return (events) => {
    const link: Link = {
      queuedBytes: 5,
      send(_, message) {
        if (isRequest(message)) events.message(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
      },
      close: () => events.closed({}),
    }
    links.push(new WeakRef(link))
    events.opened()
    return link
  }
}

test('a closed client that is still held keeps no hold on its connections', async () => {
  const links: WeakRef<object>[] = []
  const client = startClient({ logger: false, transport: { name: 'watched', connect: watched(links) } })
  await client.ready()
  assert.is(client.inspect().link.queuedBytes, 5)
  await client.close()
  assert.is(links.length, 1)
  assert.equal(await stillThere({ link: links[0] as WeakRef<object> }), [])
  assert.is(client.inspect().link.queuedBytes, 0)
})

test.run()
