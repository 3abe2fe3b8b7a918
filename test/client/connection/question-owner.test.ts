import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { defineActor, Registry, startActor } from 'caduceus/runtime'
import { currentOwner } from '../../../runtime/faults/containment.js'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { raw } from '../_raw.js'

const test = suite('what a server asks')
const method = 'elicitation/create'
const form = { message: 'Who are you?', requestedSchema: { type: 'object', properties: {} } }

test('handlers run in the owner scope of their registrant and end with it', async (t) => {
  const seen = heard<string | undefined>()
  const host = await startActor(
    defineActor({
      name: 'host',
      init: () => ({}),
      call: {
        start: () =>
          startClient({
            transport: raw(),
            logger: false,
            registry: new Registry(),
            onElicit: () => {
              seen.add(currentOwner()?.name)
              return { action: 'decline' }
            },
          }),
      },
    }),
    undefined,
    { registry: new Registry(), logger: false },
  )
  const client = await host.call('start')
  t.after(() => client.close())
  const asked = async () => JSON.parse((await client.callTool('ask', { method, params: form })).text)
  const { result } = await asked()
  assert.equal(result, { action: 'decline' })
  assert.match((await seen.next()) ?? '', 'host')
  host.kill()
  const { error } = await asked()
  assert.is(error.message, 'whoever would answer has ended')
})

test.run()
