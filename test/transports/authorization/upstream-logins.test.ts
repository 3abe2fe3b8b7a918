// Each user of a gateway signs in to the server behind it.
import { startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import * as assert from 'uvu/assert'
import { until } from 'caduceus/testing'
import { suite } from '../../support/suite.js'
import { Browser } from './_browser.js'
import { goThrough, member, names, startMail, startTeam, teamOf } from './_upstream.js'

const test = suite('logins at servers behind a gateway', { timeout: 20_000 })

test('a call asks its user to sign in, and goes on after the visit', async (t) => {
  const mail = await startMail(t)
  const team = await startTeam(t, mail)
  mail.provider.user = { subject: 'ada-at-mail' }
  const { client, asked } = member(t, String(team.url), 'ada', (address) => goThrough(address))
  const tools = await names(client)
  assert.equal(tools, ['mail__sign_in'], 'what mail lists to nobody is nothing')
  const { text } = await client.callTool('mail__sign_in')
  assert.match(text, 'You are signed in to mail')
  await until(async () => (await names(client)).includes('mail__whoami'))
  assert.is((await client.callTool('mail__whoami')).text, 'ada-at-mail')
  assert.is(asked.length, 1)
  assert.is((await client.callTool('mail__whoami')).text, 'ada-at-mail')
  assert.is(asked.length, 1, 'once')
})

test('a client that shows no pages is told the address, and its next call works', async (t) => {
  const mail = await startMail(t)
  const team = await startTeam(t, mail)
  mail.provider.user = { subject: 'bob-at-mail' }
  const { client } = member(t, String(team.url), 'bob')
  const first = await client.callTool('mail__sign_in').catch((error: unknown) => error as never)
  const [address = ''] = /http:\S+sign-in\/[\w-]+/.exec(JSON.stringify(first)) ?? []
  assert.is.not(address, '', JSON.stringify(first))
  const early = await client.callTool('mail__whoami').catch((error: unknown) => error)
  assert.match(String(early), /mail: it is not known yet what it offers: sign in by its tool sign_in first/)
  const page = await goThrough(address)
  assert.match(page.text, /You have signed in to mail/)
  // without another call
  await until(async () => (await names(client)).includes('mail__whoami'))
  assert.is((await client.callTool('mail__whoami')).text, 'bob-at-mail')
  const eve = member(t, String(team.url), 'eve').client
  const error = await eve.readResource('mail://newest').catch((cause: unknown) => cause)
  assert.match(String(error), /Sign in to mail: open http:\S+sign-in/)
})

test('a page says who asks by what they did not choose themselves', async (t) => {
  const mail = await startMail(t)
  const claims = { name: 'Ada Lovelace (ada@example.com)', email: 'ada@example.com' }
  const team = await startServer(teamOf(mail), {
    transport: serveHttp({
      authenticate: () => ({ issuer: 'https://idp.example', subject: 'mallory-4711', claims }),
    }),
    logger: false,
  })
  t.after(() => team.stop())
  const { client } = member(t, String(team.url), 'mallory')
  const told = await client.callTool('mail__sign_in')
  const [address = ''] = /http:\S+sign-in\/[\w-]+/.exec(told.text) ?? []
  const { text } = await new Browser().open(address)
  const [, who] = /It is for (.*?)\. If that is not you/.exec(text) ?? []
  const expected = 'at https://idp.example, who gives the name “Ada Lovelace (ada@example.com)”'
  assert.is(who, `<b>mallory-4711</b> (${expected})`)
})

test.run()
