import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { withClient } from 'caduceus/client'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { http, serveHttp, serveSse, serveWebSocket, sse, websocket } from 'caduceus/transports'
import { suite } from '../support/suite.js'

const test = suite('what a stopped server leaves behind')

const greet = defineTool({ name: 'greet', run: () => 'hello' })
const greeter = defineServer({ name: 'greeter', version: '1', tools: [greet] })

for (const [name, serve, connect] of [
  ['http', serveHttp, http],
  ['sse', serveSse, sse],
  ['websocket', serveWebSocket, websocket],
] as const)
  test(`a stopped server leaves nothing that keeps Node alive: ${name}`, async () => {
    const use = async (): Promise<string[]> => {
      const server = await startServer(greeter, { transport: serve(), logger: false, signals: false })
      const transport = connect(server.url ?? '')
      await withClient({ transport, logger: false }, (client) => client.callTool('greet'))
      await server.stop()
      return process.getActiveResourcesInfo()
    }
    // The first time everything is loaded, and files are read for that.
    await use()
    await sleep(100)
    const before = process.getActiveResourcesInfo()
    // on a busy machine some of that is there still, and goes meanwhile
    assert.equal(beyond(await use(), before), [])
  })

/** What is there more often than before. */
function beyond(now: readonly string[], before: readonly string[]): string[] {
  const rest = [...before]
  return now.filter((one) => {
    const at = rest.indexOf(one)
    if (at >= 0) rest.splice(at, 1)
    return at < 0
  })
}

test.run()
