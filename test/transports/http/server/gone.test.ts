import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { defineServer, startServer } from 'caduceus/server'
import { mount } from 'caduceus/transports'
import { RawClient } from '../../../server/_client.js'
import { stillThere } from '../../../support/collected.js'
import { suite } from '../../../support/suite.js'

const test = suite('what is kept of a client that is gone', { timeout: 20_000 })

test('a stream that waits for its client to come back keeps no connection of it', async (t) => {
  const mcp = mount()
  const server = await startServer(defineServer({ name: 'kept', version: '1', tools: [] }), {
    transport: mcp,
    logger: false,
  })
  t.after(() => server.stop())
  let closed: Promise<unknown> | undefined
  const weak: Record<string, WeakRef<object>> = {}
  // by itself: the scope of a test would keep what is to be gone
  const note = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.method !== 'GET') return
    closed = once(request.socket, 'close').then(() => {})
    for (const [name, thing] of Object.entries({ request, response, socket: request.socket }))
      weak[name] = new WeakRef<object>(thing)
  }
  const host = createServer((request, response) => {
    note(request, response)
    mcp.handler(request, response)
  })
  t.after(() => void host.close())
  await once(host.listen(0, '127.0.0.1'), 'listening')
  const client = new RawClient(t, `http://127.0.0.1:${(host.address() as AddressInfo).port}/mcp`)
  const stream = await (await client.open()).listen()
  stream.close()
  await closed
  assert.equal(Object.keys(weak), ['request', 'response', 'socket'])
  assert.equal(await stillThere(weak), [])
  assert.equal(
    (await server.sessions()).map(({ readers }) => readers),
    [1],
  )
})

test.run()
