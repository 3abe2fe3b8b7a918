// second tier: time
// shares a process
// Each user of a gateway signs in to the server behind it.
import * as assert from 'uvu/assert'
import { until } from 'caduceus/testing'
import { suite } from '../../support/suite.js'
import { Browser } from './_browser.js'
import { signedIn, start as startShop } from './_server.js'
import { goThrough, member, names, startMail, startTeam, teamOf } from './_upstream.js'

const test = suite('users of a gateway, and their logins', { timeout: 30_000 })

test('two users call at once, each as themselves, and each is asked once', async (t) => {
  const mail = await startMail(t)
  const team = await startTeam(t, mail)
  const url = String(team.url)
  const ofUser = (name: string) =>
    member(t, url, name, async (address) => {
      mail.provider.user = { subject: `${name}-at-mail` }
      await goThrough(address)
    })
  const [ada, bob] = [ofUser('ada'), ofUser('bob')]
  for (const { client } of [ada, bob]) await client.callTool('mail__sign_in')
  await until(async () => (await names(bob.client)).includes('mail__whoami'))
  const all = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? ada : bob))
  const told = await Promise.all(all.map(({ client }) => client.callTool('mail__whoami')))
  assert.equal(
    told.map(({ text }) => text),
    all.map((one) => (one === ada ? 'ada-at-mail' : 'bob-at-mail')),
  )
  assert.equal([ada.asked.length, bob.asked.length], [1, 1])
  assert.ok(mail.tokens.size >= 2)
  const shown = JSON.stringify([await names(ada.client), told, team.inspect()])
  for (const token of mail.tokens) assert.not.match(shown, token)
})

test('who was signed out at the server is asked again, and nobody else', async (t) => {
  const mail = await startMail(t)
  const team = await startTeam(t, mail)
  const url = String(team.url)
  const ofUser = (name: string) =>
    member(t, url, name, async (address) => {
      mail.provider.user = { subject: `${name}-at-mail` }
      await goThrough(address)
    })
  const [ada, bob] = [ofUser('ada'), ofUser('bob')]
  for (const { client } of [ada, bob]) await client.callTool('mail__sign_in')
  await until(async () => (await names(bob.client)).includes('mail__whoami'))
  await mail.auth.signOut({ issuer: mail.provider.issuer, subject: 'ada-at-mail' })
  assert.is((await bob.client.callTool('mail__whoami')).text, 'bob-at-mail')
  assert.is((await ada.client.callTool('mail__whoami')).text, 'ada-at-mail')
  assert.equal([ada.asked.length, bob.asked.length], [2, 1])
})

test('a way back in another browser, or a second time, signs nobody in', async (t) => {
  const mail = await startMail(t)
  const team = await startTeam(t, mail)
  const { client } = member(t, String(team.url), 'ada')
  const told = await client.callTool('mail__sign_in')
  const [address = ''] = /http:\S+sign-in\/[\w-]+/.exec(JSON.stringify(told)) ?? []
  mail.provider.user = { subject: 'ada-at-mail' }
  const browser = new Browser()
  const isBack = ({ pathname }: URL): boolean => pathname === '/upstream/callback/mail'
  const back = await goThrough(address, browser, isBack)
  assert.is((await new Browser().open(back.url)).status, 400)
  // an authorization server that passes on what another one has answered
  const elsewhere = back.url.href.replace('/callback/mail', '/callback/other')
  assert.is((await browser.open(elsewhere)).status, 400)
  // a state of nobody, and a page of nobody
  assert.is((await browser.open(new URL('/upstream/callback/mail?code=x&state=y', address))).status, 400)
  assert.is((await browser.open(new URL(`/upstream/sign-in/${'x'.repeat(43)}`, address))).status, 400)
  assert.match((await browser.open(back.url)).text, /You have signed in to mail/)
  assert.is((await browser.open(back.url)).status, 400, 'it counts once')
  assert.is((await browser.open(address)).status, 400, 'so does the page')
})

test('an answer of another issuer signs nobody in', async (t) => {
  const mail = await startMail(t)
  const team = await startTeam(t, mail)
  const { client } = member(t, String(team.url), 'ada')
  const told = await client.callTool('mail__sign_in')
  const [address = ''] = /http:\S+sign-in\/[\w-]+/.exec(JSON.stringify(told)) ?? []
  const browser = new Browser()
  const back = await goThrough(address, browser, ({ pathname }) => pathname === '/upstream/callback/mail')
  back.url.searchParams.set('iss', 'https://other.example')
  assert.is((await browser.open(back.url)).status, 403)
  assert.match(JSON.stringify(await client.callTool('mail__sign_in')), /sign-in\//)
})

test('where users sign in with a browser, a page is for its own user alone', async (t) => {
  const mail = await startMail(t)
  const { login, resource } = await startShop(t, { definition: teamOf(mail) })
  const ofUser = (subject: string) => {
    login.user = { subject }
    return signedIn(t, resource)
  }
  const ada = ofUser('ada')
  const told = await ada.client.callTool('mail__sign_in')
  const [address = ''] = /http:\S+sign-in\/[\w-]+/.exec(JSON.stringify(told)) ?? []
  // bob was sent the address
  const bob = ofUser('bob')
  await bob.client.ready()
  const refused = await goThrough(address, bob.browser)
  assert.is(refused.status, 403)
  assert.match(refused.text, /signed in as somebody else/)
  login.user = { subject: 'ada' }
  mail.provider.user = { subject: 'ada-at-mail' }
  // a browser that has never been here, or long ago
  assert.match((await goThrough(address, new Browser())).text, /You have signed in to mail/)
  await ada.client.callTool('mail__sign_in')
  await until(async () => (await names(ada.client)).includes('mail__whoami'))
  assert.is((await ada.client.callTool('mail__whoami')).text, 'ada-at-mail')
})

test('who is signed out while they are at the login of a server stays out there', async (t) => {
  const mail = await startMail(t)
  const { login, resource, auth } = await startShop(t, { definition: teamOf(mail) })
  login.user = { subject: 'ada' }
  const { client, browser } = signedIn(t, resource)
  const told = await client.callTool('mail__sign_in')
  const [address = ''] = /http:\S+sign-in\/[\w-]+/.exec(JSON.stringify(told)) ?? []
  mail.provider.user = { subject: 'ada-at-mail' }
  const back = await goThrough(address, browser, ({ pathname }) => pathname === '/upstream/callback/mail')
  const registered = mail.tokens.size
  await auth.signOut({ issuer: login.issuer, subject: 'ada' })
  const last = await browser.open(back.url)
  assert.equal([last.status, /mail has not signed you in/.test(last.text)], [403, true])
  assert.is(mail.tokens.size, registered)
})

test.run()
