// second tier: time
// shares a process
import { systemWorld } from 'caduceus/runtime'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { fakeIdentityProvider } from 'caduceus/testing'
import { oidc, serveHttp, signIn } from 'caduceus/transports'
import * as assert from 'uvu/assert'
import { freePort } from '../../support/free-port.js'
import { suite, type TestContext } from '../../support/suite.js'
import { Browser } from './_browser.js'
import { byName, goThrough, member, teamOf } from './_upstream.js'

const test = suite('clients that an authorization server has forgotten', { timeout: 30_000 })
const hour = 3_600_000

/** A gateway in front of a server that has forgotten it, of which the first user has looked at the page only. */
async function forgotten(t: TestContext) {
  const late = { ms: 0 }
  const clock = { ...systemWorld, date: () => Date.now() + late.ms, now: () => systemWorld.now() + late.ms }
  const provider = await fakeIdentityProvider()
  t.after(() => provider.close())
  const { issuer, clientId, clientSecret } = provider
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/mcp`
  const whoami = defineTool({ name: 'whoami', run: (_args, { principal }) => String(principal?.subject) })
  const begin = async () => {
    const auth = signIn({ with: oidc({ issuer, clientId, clientSecret }), resource: url })
    const definition = defineServer({ name: 'mail', version: '1.0.0', tools: [whoami] })
    const server = await startServer(definition, { transport: serveHttp({ port, auth }), logger: false })
    t.after(() => server.stop())
    return server
  }
  const mail = await begin()
  const team = await startServer(teamOf({ url }), {
    ...{ transport: serveHttp({ authenticate: byName }), logger: false, clock },
  })
  t.after(() => team.stop())
  const pageOf = async (name: string): Promise<string> => {
    const { client } = member(t, String(team.url), name)
    const told = await client.callTool('mail__sign_in').catch((error: unknown) => error)
    return /http:\S+sign-in\/[\w-]+/.exec(JSON.stringify(told))?.[0] ?? JSON.stringify(told)
  }
  const signsIn = async (name: string) => {
    provider.user = { subject: `${name}-at-mail` }
    const { status, text } = await goThrough(await pageOf(name), new Browser())
    return { status, text }
  }
  await pageOf('eve')
  await mail.stop()
  // in memory it knows no client any more
  await begin()
  return { late, port, pageOf, signsIn }
}

test('users sign in behind a gateway though the server has forgotten its client', async (t) => {
  const { late, signsIn } = await forgotten(t)
  const first = await signsIn('ada')
  assert.is(first.status, 400)
  assert.match(first.text, /is not known here any more. Remove this server in it, and add it again/)
  // that nobody comes back is known after a while
  late.ms = hour
  for (const name of ['bob', 'ada'])
    assert.match((await signsIn(name)).text, /You have signed in to mail/, name)
})

test('who comes back with something made up keeps nobody out of such a server', async (t) => {
  const { late, port, pageOf, signsIn } = await forgotten(t)
  const warnings: string[] = []
  const listener = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', listener)
  t.after(() => process.off('warning', listener))
  const clients = new Set<string | null>()
  // two of them are words of a token endpoint, which no browser has to say
  for (const error of ['access_denied', 'unauthorized_client', 'invalid_client', 'access_denied']) {
    const browser = new Browser()
    // goes, and stops before the authorization server
    const away = await goThrough(await pageOf('mallory'), browser, (url) => url.port === String(port))
    const { searchParams } = away.url
    clients.add(searchParams.get('client_id'))
    const back = new URL(searchParams.get('redirect_uri') ?? '')
    const state = searchParams.get('state') ?? ''
    back.search = String(new URLSearchParams({ state, error, iss: away.url.origin }))
    assert.is((await browser.open(back)).status, 403)
  }
  assert.is(clients.size, 1)
  late.ms = hour
  assert.match((await signsIn('bob')).text, /You have signed in to mail/)
  // whoever runs it is told once a minute
  assert.is(warnings.filter((one) => one.startsWith('mail has not signed somebody in')).length, 1)
})

test.run()
