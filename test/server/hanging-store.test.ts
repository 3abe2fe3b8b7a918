import * as assert from 'uvu/assert'
import { createFakeClock } from '../../runtime/fake-clock.js'
import type { SessionStore } from '../../server/session-store.js'
import { heard } from '../support/heard.js'
import { suite } from '../support/suite.js'
import { RawClient } from './_client.js'
import { count, echo, startTestServer } from './_servers.js'

const test = suite('a store that does not answer')

test('a call that has to be saved is answered with an error after 5 s, and the session goes on', async (t) => {
  const clock = createFakeClock()
  const saves = heard<'asked'>()
  const gone = { is: false }
  const store: SessionStore = {
    load: () => undefined,
    save() {
      if (!gone.is) return undefined
      saves.add('asked')
      return new Promise(() => {})
    },
    delete: () => undefined,
  }
  const server = await startTestServer(t, [count, echo], { clock, store })
  const client = await new RawClient(t, server.url).open()
  gone.is = true
  const call = client.call('count')
  await saves.next()
  assert.is(await client.text('echo', { text: 'still here' }), 'still here')
  await clock.advance(5_000)
  assert.is((await call).error?.code, -32603)
  gone.is = false
  assert.is(await client.text('count'), '2')
})

test.run()
