import * as assert from 'uvu/assert'
import { suite } from '../../support/suite.js'
import { signedIn, start } from './_server.js'

const test = suite('sign in', { timeout: 20_000 })

test('a client registers, its user signs in and agrees, and tools see who it is', async (t) => {
  const { resource, login } = await start(t)
  const { client, pages } = signedIn(t, resource)
  const { text } = await client.callTool('whoami')
  const { issuer, subject, claims } = JSON.parse(text)
  assert.equal([issuer, subject, claims.email], [login.issuer, 'ada', 'ada@example.com'])
  assert.is(pages.length, 1)
  assert.match(String(pages[0]?.text), /wants to use <b>127\.0\.0\.1:\d+<\/b> as you: <b>Ada<\/b>/)
})

test.run()
