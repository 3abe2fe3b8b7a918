import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { http } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { json, listen, polite, result, stream } from '../../transports/_http.js'

const test = suite('news of a session whose stream was away', { timeout: 15_000 })
const toolsChanged = 'notifications/tools/list_changed'
const promptsChanged = 'notifications/prompts/list_changed'
const updated = 'notifications/resources/updated'

for (const [how, first, missed] of [
  ['without event ids', '', [toolsChanged, 'x:1', promptsChanged]],
  ['that goes on from an event', 'id: 7\ndata:\n\n', [promptsChanged]],
] as const)
  test(`a stream ${how}: handlers are told what may have been missed`, async (t) => {
    let streams = 0
    const answer = polite((seen) => json(seen, result(seen, {})))
    const server = await listen(t, (seen) => {
      if (seen.method === 'GET') {
        streams += 1
        const begun = stream(seen)
        begun.write(streams === 1 ? `retry: 1\n\n${first}` : 'retry: 1\n\n')
        if (streams === 2)
          begun.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method: promptsChanged })}\n\n`)
        return
      }
      if (seen.message.method !== 'initialize') return answer(seen)
      const capabilities = { tools: { listChanged: true }, resources: { subscribe: true } }
      const serverInfo = { name: 'raw', version: '1' }
      const value = { protocolVersion: '2025-11-25', capabilities, serverInfo }
      json(seen, result(seen, value), 200, { 'mcp-session-id': 'session-1' })
    })
    await using client = startClient({ transport: http(server.url), logger: false })
    const news = heard<string>()
    client.onNotification(toolsChanged, () => void news.add(toolsChanged))
    client.onNotification(promptsChanged, () => void news.add(promptsChanged))
    client.onNotification(updated, ({ uri }) => void news.add(uri))
    await client.subscribe('x:1')
    const { response } = await server.seen.next(({ method }) => method === 'GET')
    response.end()
    for (const expected of missed) assert.is(await news.next(), expected)
    assert.is(news.all.length, missed.length)
  })

test.run()
