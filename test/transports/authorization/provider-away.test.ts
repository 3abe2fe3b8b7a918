// second tier: time
// shares a process
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { fakeIdentityProvider, until } from 'caduceus/testing'
import { oauth2 } from 'caduceus/transports'
import * as assert from 'uvu/assert'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { signedIn, start } from './_server.js'

const test = suite('tokens of a provider that is away', { timeout: 30_000 })

/** A provider whose tokens live for so many seconds. Renewals wait while it `isAway`. */
async function startAway(t: TestContext, expiresIn: number) {
  const fake = await fakeIdentityProvider({ expiresIn })
  t.after(() => fake.close())
  const state = { isAway: false, renewals: 0, asked: heard<() => void>() }
  const front = createServer(async (request, response) => {
    const body = await textOf(request)
    const isRenewal = body.includes('grant_type=refresh_token')
    if (isRenewal) state.renewals += 1
    if (isRenewal && state.isAway) return state.asked.add(() => response.destroy())
    const { authorization = '' } = request.headers
    const answer = await fetch(`${fake.issuer}/token`, {
      method: 'POST',
      body,
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
    })
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => front.once('listening', resolve))
  t.after(() => {
    front.closeAllConnections()
    front.close()
  })
  const { clientId, clientSecret } = fake
  const provider = oauth2({
    authorizeUrl: `${fake.issuer}/authorize`,
    tokenUrl: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    userInfo: async () => ({ subject: 'ada' }),
    clientId,
    clientSecret,
  })
  const { resource } = await start(t, { provider })
  const { client } = signedIn(t, resource)
  const tokenOf = async (): Promise<string> => (await client.callTool('credentials')).text
  return { state, tokenOf }
}

test('a token that is good still is used, and calls at once wait for one renewal', async (t) => {
  // each call is within the last minute of the token
  const { state, tokenOf } = await startAway(t, 50)
  const first = await tokenOf()
  assert.match(first, /token-/)
  state.isAway = true
  const before = state.renewals
  const calls = Promise.all(Array.from({ length: 12 }, tokenOf))
  let isOver = false
  void calls.finally(() => {
    isOver = true
    state.asked.add(() => {})
  })
  while (!isOver) (await state.asked.next())()
  const told = await calls
  assert.is(new Set(told).size, 1, String(told))
  assert.match(told[0] ?? '', /token-/)
  // a busy machine may see a second one after 2 s
  assert.ok(state.renewals - before < 4, String(state.renewals - before))
})

test('while one call waits for a renewal that takes long, others use what is good', async (t) => {
  const { state, tokenOf } = await startAway(t, 50)
  const first = await tokenOf()
  state.isAway = true
  let isOver = false
  const slow = tokenOf().finally(() => {
    isOver = true
  })
  const giveUp = await state.asked.next()
  // it waits for a second at most
  assert.is(await tokenOf(), first)
  assert.is(isOver, false)
  giveUp()
  assert.is(await slow, first)
})

test('without a token that is good, calls fail until the provider is back', async (t) => {
  const { state, tokenOf } = await startAway(t, 1)
  assert.match(await tokenOf(), /token-/)
  state.isAway = true
  const isRefused = until(async () => /cannot be asked|has just failed/.test(await tokenOf()), {
    timeout: 20_000,
  })
  ;(await state.asked.next())()
  await isRefused
  assert.match(await tokenOf(), /cannot be asked|has just failed/)
  state.isAway = false
  await until(async () => /token-/.test(await tokenOf()), { timeout: 20_000 })
})

test.run()
