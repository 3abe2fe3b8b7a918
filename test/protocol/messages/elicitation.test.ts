import * as assert from 'uvu/assert'
import { urlElicitations } from 'caduceus/protocol'
import { suite } from '../../support/suite.js'

const test = suite('protocol/messages/elicitation')
const page = { mode: 'url', elicitationId: '1', url: 'https://example.com/', message: 'Please sign in.' }

test('an error -32042 gives the pages of its list', () => {
  assert.equal(urlElicitations({ code: -32042, message: '', data: { elicitations: [page, page] } }), [
    page,
    page,
  ])
  assert.equal(urlElicitations({ code: -32042, message: '', data: { elicitations: [] } }), [])
})

test('other errors and lists give no pages', () => {
  for (const error of [
    undefined,
    -32042,
    { code: -32603, data: { elicitations: [page] } },
    { code: -32042 },
    { code: -32042, data: [page] },
    { code: -32042, data: { elicitations: page } },
    { code: -32042, data: { elicitations: [page, 5] } },
    { code: -32042, data: { elicitations: [page, { ...page, mode: 'form' }] } },
    { code: -32042, data: { elicitations: [{ ...page, url: 5 }] } },
    { code: -32042, data: { elicitations: [{ ...page, url: 'javascript:alert(1)' }] } },
  ])
    assert.equal(urlElicitations(error), [], JSON.stringify(error))
})

test.run()
