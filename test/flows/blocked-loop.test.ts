// second tier: time
import * as assert from 'uvu/assert'
import { defineServer, defineTool } from 'caduceus'
import { connect, record } from 'caduceus/testing'
import { suite } from '../support/suite.js'

const test = suite('blocked loop', { timeout: 30_000 })

const used = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
const spin = defineTool({
  name: 'spin',
  run() {
    for (const end = used() + 500; used() < end; );
    return 'done'
  },
})
const shop = defineServer({ name: 'shop', version: '1.0.0', tools: [spin] })

for (const era of ['handshake', 'modern'] as const)
  test(`a tool that blocks the loop is reported with request and server (${era})`, async (t) => {
    using blocked = record('blocked')
    using requests = record('server.request')
    const watched = { onBlocked: 'report', blockedAfter: 100 } as const
    const { client, close } = await connect(shop, { ...watched, client: { era } })
    t.after(close)
    for (let found = false; !found; ) {
      assert.is((await client.callTool('spin')).text, 'done')
      await new Promise((resolve) => setTimeout(resolve, 200))
      found = blocked.all.some(({ owner }) => owner === 'tools/call spin')
    }
    const event = await blocked.next(({ owner }) => owner === 'tools/call spin')
    assert.equal(event.ancestors, ['tasks', 'group', 'server shop'])
    assert.match(event.stack.join('\n'), /\brun \(.*blocked-loop/)
    const ids = requests.all.map(({ id }) => id)
    assert.ok(event.serves !== undefined && ids.includes(event.serves), `${event.serves} of ${ids.join()}`)
  })

test.run()
