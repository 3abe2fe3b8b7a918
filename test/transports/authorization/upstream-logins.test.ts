// Each user of a gateway signs in to the server behind it.
import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { files, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import * as assert from 'uvu/assert'
import { until } from 'caduceus/testing'
import { makeFolder } from '../../support/folder.js'
import { suite } from '../../support/suite.js'
import { Browser } from './_browser.js'
import { byName, goThrough, member, names, startMail, startTeam, teamOf } from './_upstream.js'

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

test('however often a user declines, of the visits the last one is kept', async (t) => {
  const far = createServer((request, response) => {
    const at = `http://127.0.0.1:${(far.address() as AddressInfo).port}`
    const answer = (status: number, body: object, headers = {}): void => {
      request.resume()
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify(body))
    }
    const { url = '' } = request
    if (url.includes('oauth-protected-resource'))
      answer(200, { resource: `${at}/mcp`, authorization_servers: [at] })
    else if (url.includes('.well-known/'))
      answer(200, {
        ...{ issuer: at, token_endpoint: `${at}/token`, registration_endpoint: `${at}/register` },
        ...{ code_challenge_methods_supported: ['S256'], response_types_supported: ['code'] },
        token_endpoint_auth_methods_supported: ['none'],
        // as long as a header may be, nearly
        authorization_endpoint: `${at}/authorize?x=${'x'.repeat(10_000)}`,
      })
    else if (url === '/register') answer(201, { client_id: 'c', token_endpoint_auth_method: 'none' })
    else
      answer(
        401,
        {},
        { 'www-authenticate': `Bearer resource_metadata="${at}/.well-known/oauth-protected-resource/mcp"` },
      )
  })
  far.listen(0, '127.0.0.1')
  await once(far, 'listening')
  t.after(() => {
    far.closeAllConnections()
    far.close()
  })
  const folder = makeFolder(t)
  const mail = { url: `http://127.0.0.1:${(far.address() as AddressInfo).port}/mcp` }
  const transport = serveHttp({ authenticate: byName })
  const team = await startServer(teamOf(mail), { transport, logger: false, engine: files({ folder }) })
  t.after(() => team.stop())
  const { client } = member(t, String(team.url), 'ada')
  const decide = async (address: string, decision: string) => {
    const headers = { origin: new URL(address).origin, cookie: 'upstream=x' }
    const body = new URLSearchParams({ decision })
    const response = await fetch(address, { method: 'POST', headers, body, redirect: 'manual' })
    await response.text()
    return response.status
  }
  const kept = () => {
    const found = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
    return found.reduce((bytes, { parentPath, name }) => bytes + statSync(join(parentPath, name)).size, 0)
  }
  const sizes: number[] = []
  let last = ''
  for (let visit = 0; visit < 8; visit += 1) {
    const told = await client.callTool('mail__sign_in')
    const [address = ''] = /http:\S+sign-in\/[\w-]+/.exec(told.text) ?? []
    assert.is.not(address, last)
    assert.equal([await decide(address, 'allow'), await decide(address, 'deny')], [303, 200])
    assert.is(await decide(address, 'allow'), 400)
    last = address
    sizes.push(kept())
  }
  const [, second = 0] = sizes
  assert.ok(Math.abs((sizes.at(-1) ?? 0) - second) < 300, sizes.join(', '))
})

test.run()
