import * as assert from 'uvu/assert'
import { suite } from '../../support/suite.js'
import { rejection, watchNear } from '../_raw.js'

const test = suite('client revisions')

for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
  test(`a server that answers ${revision} is used in that revision`, async (t) => {
    const { client } = watchNear(t, {}, { init: revision })
    await client.ready({ timeout: 60_000 })
    assert.is(client.inspect().server?.revision, revision)
    assert.is((await client.callTool('echo', { text: 'hello' })).text, 'hello')
  })
}

test('a server that answers an unknown revision is disconnected', async (t) => {
  const { client } = watchNear(t, {}, { init: '2099-01-01' })
  assert.is((await rejection(client.ready({ timeout: 60_000 }))).code, 'NO_COMMON_REVISION')
})

test.run()
