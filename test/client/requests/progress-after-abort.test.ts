import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { scriptedServer } from 'caduceus/testing'
import { suite } from '../../support/suite.js'

const test = suite('progress of a call that was given up')

test('progress after an abort reaches no handler', async (t) => {
  const server = scriptedServer({ 'tools/call': () => undefined })
  const client = startClient({ transport: server.transport, logger: false })
  t.after(() => client.close())
  const caller = new AbortController()
  const told: number[] = []
  const call = client
    .callTool(
      'slow',
      {},
      {
        signal: caller.signal,
        onProgress({ progress }) {
          told.push(progress)
          caller.abort()
        },
      },
    )
    .catch((error: { readonly code?: string }) => error.code)
  const { params } = await server.next('tools/call')
  const { progressToken } = (params as { readonly _meta: { readonly progressToken: number } })._meta
  for (const progress of [1, 2, 3]) server.notify('notifications/progress', { progressToken, progress })
  assert.is(await call, 'CANCELLED')
  await client.ping()
  assert.equal(told, [1])
})

test.run()
