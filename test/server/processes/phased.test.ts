// second tier: time
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { startServer } from 'caduceus/server'
import { until } from 'caduceus/testing'
import { http, serveHttp } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('phased restarts under load', { timeout: 120_000 })
const module = new URL('./_loaded.js', import.meta.url)

interface Caller {
  /** Calls a tool and answers its text; `seen` hears progress. */
  call(name: string, seen: () => void): Promise<string>
  /** Changes of the list of tools that it was told of. */
  changes(): number
}

type Connect = (t: TestContext, url: string) => Promise<Caller>

test('phased replacement loses no call, session or notification', async (t) => {
  const server = await startServer(module, { transport: serveHttp(), processes: 2, logger: false })
  t.after(() => server.stop())
  const kinds: readonly Connect[] = [connectOne, connectTwo, connectOurs]
  const connected = [...kinds, ...kinds].map((connect) => connect(t, String(server.url)))
  const callers = await Promise.all(connected)
  let isOver = false
  const loops = callers.map(async ({ call }) => {
    let [calls, seen] = [0, 0]
    while (!isOver) {
      calls += 1
      const name = calls % 5 === 0 ? 'works' : 'count'
      assert.is(await call(name, () => (seen += 1)), String(calls))
    }
    assert.is(seen, Math.floor(calls / 5))
    return calls
  })
  const reloads = async (): Promise<void> => {
    for (let i = 0; i < 2; i++) await server.reload()
  }
  await Promise.race([reloads(), Promise.all(loops)])
  isOver = true
  for (const calls of await Promise.all(loops)) assert.ok(calls > 10, String(calls))
  await server.listChanged('tools')
  await until(() => callers.every(({ changes }) => changes() > 0), { timeout: 30_000 })
  assert.is((await server.sessions()).length, callers.length)
})

test.run()

async function connectOne(t: TestContext, url: string): Promise<Caller> {
  const place = '@modelcontextprotocol/sdk/client'
  const { Client } = await import(`${place}/index.js`)
  const { StreamableHTTPClientTransport } = await import(`${place}/streamableHttp.js`)
  const { ToolListChangedNotificationSchema } = await import('@modelcontextprotocol/sdk/types.js' as string)
  const client = new Client({ name: 'one', version: '1' })
  let changes = 0
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    changes += 1
  })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  t.after(() => client.close())
  return {
    call: async (name, onprogress) => textOf(await client.callTool({ name }, undefined, { onprogress })),
    changes: () => changes,
  }
}

async function connectTwo(t: TestContext, url: string): Promise<Caller> {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const client = new Client({ name: 'two', version: '1' })
  let changes = 0
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    changes += 1
  })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  t.after(() => client.close())
  return {
    call: async (name, onprogress) => textOf(await client.callTool({ name }, { onprogress })),
    changes: () => changes,
  }
}

async function connectOurs(t: TestContext, url: string): Promise<Caller> {
  const client = startClient({ transport: http(url), era: 'handshake' })
  let changes = 0
  client.onNotification('notifications/tools/list_changed', () => {
    changes += 1
  })
  await client.ready()
  t.after(() => client.close())
  return {
    call: async (name, onProgress) => textOf(await client.callTool(name, {}, { onProgress })),
    changes: () => changes,
  }
}

function textOf(result: unknown): string {
  const { content } = result as { content: readonly { readonly text?: string }[] }
  return content[0]?.text ?? JSON.stringify(result)
}
