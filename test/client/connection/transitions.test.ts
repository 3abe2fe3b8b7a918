import * as assert from 'uvu/assert'
import { subscribeClient, type WarningEvent } from 'caduceus/client'
import { createFakeClock } from 'caduceus/runtime'
import type { ClientTransport, LinkEvents } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { heard } from '../../support/heard.js'
import { flaky } from '../_flaky.js'
import { watch } from '../_raw.js'

const test = suite('the connection machine of a client')
const name = 'expects the unexpected'

test('an impossible event changes no state, is counted and is reported in a sentence', async (t) => {
  const warnings = heard<WarningEvent>()
  t.after(subscribeClient('warning', warnings.add))
  const { transport: inner } = flaky(0)
  let link: LinkEvents | undefined
  const transport: ClientTransport = {
    name: 'says it twice',
    connect(events, scope) {
      link = events
      return inner.connect(events, scope)
    },
  }
  const { client } = watch(t, { name, transport })
  await client.ready()
  link?.opened()
  const { type, reason, client: who } = await warnings.next()
  assert.equal([who, type], [name, 'unexpected_event'])
  assert.is(reason, 'the event opened is none that a client expects while it is ready')
  assert.equal([client.state.phase, client.inspect().counts.unexpected], ['ready', 1])
  await client.ping()
})

test('late or repeated reconnects, waits and calls are expected in every state', async (t) => {
  const clock = createFakeClock()
  const { transport, drop } = flaky(1)
  const { client, phase } = watch(t, { transport, clock, backoff: { base: 500, random: () => 1 } })
  const early = client.reconnect()
  await phase('disconnected')
  void client.ready().catch(() => {})
  const call = client.ping()
  await clock.advance(500)
  await Promise.all([early, call, client.reconnect(), client.ready()])
  drop()
  await phase('disconnected')
  const again = client.ping()
  await client.reconnect()
  await again
  assert.is(client.inspect().counts.unexpected, 0)
  const closed = client.close()
  await clock.advance(100)
  await closed
  assert.is(client.inspect().counts.unexpected, 0)
})

test.run()
