import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { fakeIdentityProvider } from 'caduceus/testing'
import { github, http, serveHttp, signIn } from 'caduceus/transports'
import { freePort } from '../../support/free-port.js'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { Browser } from './_browser.js'
import { signedIn } from './_server.js'

const test = suite('more scopes of the provider', { timeout: 20_000 })

/** A tool that needs more than every user is asked for. */
const issues = defineTool({
  name: 'issues',
  async run(_args, ctx) {
    const { accessToken, scopes } = await ctx.credentials({ scopes: ['repo', 'gist'] })
    return `${accessToken.length > 0} ${scopes?.join()}`
  },
})

async function begin(t: TestContext) {
  const login = await fakeIdentityProvider({ github: true, expiresIn: Number.POSITIVE_INFINITY })
  t.after(() => login.close())
  const { issuer: url, clientId, clientSecret } = login
  const port = await freePort()
  const resource = `http://127.0.0.1:${port}/mcp`
  const auth = signIn({ with: github({ url, clientId, clientSecret }), resource })
  const definition = defineServer({ name: 'shop', version: '1.0.0', tools: [issues] })
  const server = await startServer(definition, { transport: serveHttp({ port, auth }), logger: false })
  t.after(() => server.stop())
  return { login, resource, origin: new URL(resource).origin }
}

for (const era of ['handshake', 'modern'] as const)
  test(`${era}: a tool has the user asked at the provider, goes on, and asks no more`, async (t) => {
    const { resource, origin } = await begin(t)
    const visits = heard<string>()
    const browser = new Browser()
    const first = signedIn(t, resource, undefined, { browser })
    await first.client.listTools()
    const client = startClient({
      ...{ transport: http(resource, { auth: first.auth }), era, logger: false },
      onElicit: {
        url({ message, url }) {
          assert.is(message, 'GitHub has to let this server do more: repo, gist')
          visits.add(url)
          return { action: 'accept' }
        },
      },
    })
    t.after(() => client.close())
    const called = client.callTool('issues')
    const url = await visits.next()
    assert.ok(url.startsWith(`${origin}/sign-in/more/`), url)
    // somebody else who got the address adds nothing to the account
    const { status, text } = await browser.open(url)
    assert.equal([status, /That is all/.test(text)], [200, true])
    assert.is((await called).text, 'true read:user,user:email,repo,gist')
    assert.is((await client.callTool('issues')).text, 'true read:user,user:email,repo,gist')
    assert.is(visits.all.length, 1)
  })

test('a page for more is of no use to another user', async (t) => {
  const { resource, login } = await begin(t)
  const { client, browser } = signedIn(t, resource)
  const { isError, text } = await client.callTool('issues')
  // this client shows no pages: its model tells the user
  assert.match(
    text,
    /^GitHub has to let this server do more: repo, gist\. Open http\S+ and call this again\.$/,
  )
  assert.ok(isError)
  const url = /http\S+/.exec(text)?.[0] ?? ''
  // however often it is called there is one page
  assert.is((await client.callTool('issues')).text, text)
  login.user = { subject: 'mallory' }
  const other = await new Browser().open(url)
  assert.equal([other.status, /signed in as somebody else/.test(other.text)], [403, true])
  assert.match((await client.callTool('issues')).text, /has to let this server do more/)
  login.user = null
  assert.match((await browser.open(url)).text, /It was refused/)
  login.user = { subject: 'ada' }
  assert.is((await browser.open(url)).status, 200)
  assert.is((await client.callTool('issues')).text, 'true read:user,user:email,repo,gist')
  for (const wrong of ['/sign-in/more/absent', '/sign-in/more/'])
    assert.ok((await fetch(new URL(wrong, resource))).status >= 400)
})

test('CSRF on the callback: a visit that another browser began is not ended here', async (t) => {
  const { resource } = await begin(t)
  const { client, browser } = signedIn(t, resource)
  const url = /http\S+/.exec((await client.callTool('issues')).text)?.[0] ?? ''
  const isCallback = ({ pathname }: URL): boolean => pathname === '/sign-in/callback'
  const begun = await new Browser().open(url, isCallback)
  // the browser of the user has a cookie of its own
  await browser.open(url, isCallback)
  const forced = await browser.open(begun.url)
  assert.equal([forced.status, /begun in another browser/.test(forced.text)], [400, true])
  assert.match((await client.callTool('issues')).text, /has to let this server do more/)
})

test('a user who refuses at the provider keeps no call waiting', async (t) => {
  const { resource, login } = await begin(t)
  const { auth, browser, client: first } = signedIn(t, resource)
  await first.listTools()
  login.user = null
  const client = startClient({
    transport: http(resource, { auth }),
    onElicit: {
      async url({ url }) {
        assert.match((await browser.open(url)).text, /It was refused/)
        return { action: 'accept' }
      },
    },
    logger: false,
  })
  t.after(() => client.close())
  const { isError, text } = await client.callTool('issues')
  assert.equal([isError, text], [true, 'There are no credentials: the user has not granted repo, gist.'])
})

test('a user who refuses is told so by the tool', async (t) => {
  const { resource } = await begin(t)
  const { auth } = signedIn(t, resource)
  const client = startClient({
    transport: http(resource, { auth }),
    onElicit: { url: () => ({ action: 'decline' }) },
    logger: false,
  })
  t.after(() => client.close())
  const { isError, text } = await client.callTool('issues')
  assert.equal(
    [isError, text],
    [true, 'GitHub has to let this server do more: repo, gist; the user has refused.'],
  )
})

test.run()
