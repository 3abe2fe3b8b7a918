// second tier: time
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { fakeIdentityProvider, until } from 'caduceus/testing'
import { freePort } from '../support/free-port.js'
import { suite } from '../support/suite.js'
import { signedIn } from '../transports/authorization/_server.js'
import { goThrough, names, startMail } from '../transports/authorization/_upstream.js'
import { caduceus, newHome, serverFile } from './_caduceus.js'
import { begin, servedAt } from './_serve.js'

const test = suite('caduceus serve, and logins of users', { timeout: 60_000 })

test('users sign in at the team, and each at a server behind it', async (t) => {
  const mail = await startMail(t)
  const login = await fakeIdentityProvider()
  t.after(() => login.close())
  const home = newHome(t)
  const port = await freePort()
  const resource = `http://127.0.0.1:${port}/mcp`
  mkdirSync(join(home, 'secrets'))
  writeFileSync(join(home, 'secrets', 'login'), login.clientSecret)
  const oidc = { issuer: '${LOGIN}', clientId: login.clientId, clientSecret: '${file:secrets/login}' }
  const section = {
    listen: { port },
    engine: { files: 'kept' },
    signIn: {
      ...{ resource, with: { oidc }, allow: { domains: ['example.com'], claims: { groups: ['staff'] } } },
      ...{ scopes: { admin: 'Do all' }, scopesOf: { admin: { claims: { groups: ['staff'] } } } },
    },
    servers: { mail: { per: 'principal', auth: 'oauth', lists: 'shared', allow: ['whoami'] } },
  }
  const whole = { mcpServers: { mail: { url: mail.url } }, caduceus: section }
  writeFileSync(join(home, 'mcp.json'), JSON.stringify(whole))
  const program = begin(t, ['serve', 'mcp.json'], home, { LOGIN: login.issuer })
  await program.line(servedAt)
  login.user = { subject: 'eve', email: 'eve@example.org' }
  const eve = signedIn(t, resource)
  assert.match(
    String(await eve.client.listTools().catch((error: unknown) => error)),
    /may not use this server/,
  )
  login.user = { subject: 'ada', email: 'ada@Example.com' }
  const ada = signedIn(t, resource)
  assert.equal(await names(ada.client), ['mail__sign_in'])
  const asked = JSON.stringify(await ada.client.callTool('mail__sign_in'))
  const [address = ''] = /http:\S+sign-in\/[\w-]+/.exec(asked) ?? []
  mail.provider.user = { subject: 'ada-at-mail' }
  assert.match((await goThrough(address, ada.browser)).text, /You have signed in to mail/)
  await ada.client.callTool('mail__sign_in')
  await until(async () => (await names(ada.client)).includes('mail__whoami'))
  assert.is((await ada.client.callTool('mail__whoami')).text, 'ada-at-mail')
  assert.is(await program.stop(), 0)
  // what is kept outlives the program: nobody is asked again
  mail.provider.user = null
  login.user = null
  const again = begin(t, ['serve', 'mcp.json'], home, { LOGIN: login.issuer })
  await again.line(servedAt)
  assert.is((await ada.client.callTool('mail__whoami')).text, 'ada-at-mail')
  assert.is(await again.stop(), 0)
})

test('what is wrong with logins is told with its line and column', async (t) => {
  const home = newHome(t)
  const secret = 's3cret-0123456789'
  const github = { clientId: 'a', clientSecret: secret }
  const resource = 'http://127.0.0.1:3000/mcp'
  const signIn = { resource, with: { github } }
  const engine = { files: 'kept' }
  const client = { id: 'a', secret }
  const server = (options: object) => ({ servers: { one: options } })
  const cases: readonly (readonly [section: object, told: RegExp])[] = [
    [{ signIn }, /:\d+:\d+: caduceus\.signIn: expected an engine beside it/],
    [{ signIn, engine, tokens: { ada: secret } }, /caduceus\.signIn: expected signIn or tokens, not both/],
    [
      { engine, signIn: { ...signIn, resource: 'http://far.example' } },
      /:\d+:\d+: caduceus\.signIn\.resource: /,
    ],
    [
      { engine, signIn: { resource, with: {} } },
      /caduceus\.signIn\.with: expected one of github, oidc, oauth2/,
    ],
    [
      { engine, signIn: { resource, with: { oidc: github } } },
      /caduceus\.signIn\.with\.oidc\.issuer: expected/,
    ],
    [
      { engine, signIn: { ...signIn, allow: {} } },
      /caduceus\.signIn\.allow: expected emails, domains or claims/,
    ],
    [
      { engine, signIn: { ...signIn, allow: { emails: 'x' } } },
      /caduceus\.signIn\.allow\.emails: expected an array of texts/,
    ],
    [
      { engine, signIn: { ...signIn, allow: { claims: { email: ['ada@example.com'] } } } },
      /caduceus\.signIn\.allow\.claims\.email: expected no address among claims/,
    ],
    [{ engine, signIn: { ...signIn, scopesOf: { x: {} } } }, /caduceus\.signIn\.scopesOf\.x: expected/],
    [server({ auth: 'oauth' }), /caduceus\.servers\.one\.per: expected 'principal' with auth/],
    [server({ per: 'principal', auth: 'oath' }), /caduceus\.servers\.one\.auth: expected 'oauth' or/],
    [
      server({ per: 'principal', auth: { oauth: { client } } }),
      /caduceus\.servers\.one\.auth\.oauth\.client\.issuer: expected/,
    ],
    [
      server({ per: 'principal', auth: { exchange: { client } } }),
      /caduceus\.servers\.one\.auth\.exchange\.issuer: expected either issuer or tokenUrl/,
    ],
    [server({ lists: 'all' }), /caduceus\.servers\.one\.lists: expected 'own' or 'shared'/],
  ]
  const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
  for (const [section, told] of cases) {
    writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers: { one: entry }, caduceus: section }))
    const { code, err } = await caduceus(t, ['serve', 'mcp.json'], { home })
    assert.is(code, 2, `${JSON.stringify(section)}: ${err}`)
    assert.match(err, told)
    assert.not.match(err, secret)
    assert.is(err.trim().split('\n').length, 1, err)
  }
})

test.run()
