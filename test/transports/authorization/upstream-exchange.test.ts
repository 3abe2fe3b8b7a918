// The token of a caller of a gateway is traded for one that is for the server behind it (RFC 8693).
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { oauth, startClient } from 'caduceus/client'
import { defineServer, defineTool, files, gateway, startServer } from 'caduceus/server'
import { until } from 'caduceus/testing'
import { http, jwt, serveHttp } from 'caduceus/transports'
import { decodeJwt } from 'jose'
import { startLogin } from '../../examples/auth/login.js'
import { freePort } from '../../support/free-port.js'
import { suite, type TestContext } from '../../support/suite.js'
import { byName, names } from './_upstream.js'

const test = suite('token exchange of a gateway', { timeout: 20_000 })

interface ExchangePlan {
  readonly isByName?: boolean
  readonly lazy?: boolean
  readonly folder?: string
}

async function startExchange(t: TestContext, { isByName = false, lazy = false, folder }: ExchangePlan = {}) {
  const login = await startLogin()
  t.after(() => login[Symbol.asyncDispose]())
  const { issuer } = login
  const [mailAt = '', teamAt = ''] = [await freePort(), await freePort()].map(
    (port) => `http://127.0.0.1:${port}/mcp`,
  )
  const came: string[] = []
  const revoked = new Set<string>()
  const check = jwt({ issuer })
  const whoami = defineTool({ name: 'whoami', run: (_args, { principal }) => String(principal?.subject) })
  const mail = await startServer(defineServer({ name: 'mail', version: '1.0.0', tools: [whoami] }), {
    transport: serveHttp({
      port: Number(new URL(mailAt).port),
      auth: {
        resource: mailAt,
        authorizationServers: [issuer],
        async verify(token, use) {
          came.push(token)
          return revoked.has(token) ? undefined : check(token, use)
        },
      },
    }),
    logger: false,
  })
  t.after(() => mail.stop())
  const team = gateway({
    mail: {
      per: 'principal',
      lazy,
      auth: { exchange: { issuer, client: { id: 'gateway', secret: 's' }, resource: mailAt } },
      start: ({ answers, token }) =>
        startClient({ ...answers(), transport: http(mailAt, { auth: token }), logger: false }),
    },
  })
  const auth = { resource: teamAt, authorizationServers: [issuer], verify: check }
  const start = () =>
    startServer(team, {
      ...(folder !== undefined && { engine: files({ folder }) }),
      transport: serveHttp({
        port: Number(new URL(teamAt).port),
        ...(isByName ? { authenticate: byName } : { auth }),
      }),
      logger: false,
    })
  let server = await start()
  t.after(() => server.stop())
  const again = async (): Promise<void> => {
    await server.stop()
    server = await start()
  }
  const trades: string[] = []
  const hear = (message: unknown): void => {
    const { request } = message as { readonly request: IncomingMessage }
    if (request.socket.localPort === Number(new URL(issuer).port)) trades.push(String(request.url))
  }
  subscribe('http.server.request.start', hear)
  t.after(() => unsubscribe('http.server.request.start', hear))
  const memberOf = (id: string) => {
    const own = oauth({ client: { id, secret: 's', issuer }, grant: 'client_credentials' })
    t.after(() => own.close())
    const client = startClient({ transport: http(teamAt, { auth: isByName ? id : own }), logger: false })
    t.after(() => client.close())
    return client
  }
  return { memberOf, came, revoked, again, trades: () => trades.filter((path) => path === '/token').length }
}

test('many calls of two users are one trade for each, and each is itself', async (t) => {
  const { memberOf, trades, came } = await startExchange(t)
  const [ada, bob] = [memberOf('ada'), memberOf('bob')]
  await Promise.all([ada.ready(), bob.ready()])
  const before = trades()
  const all = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? ada : bob))
  const told = await Promise.all(all.map((client) => client.callTool('mail__whoami')))
  assert.equal(
    told.map(({ text }) => text),
    all.map((client) => (client === ada ? 'ada' : 'bob')),
  )
  assert.is(trades() - before, 2)
  assert.ok(new Set(came).size >= 3, 'that of the gateway itself, and two')
})

test('a call that starts a lazy server is its caller, also the first one of a program', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'upstream-exchange-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const { memberOf, again } = await startExchange(t, { lazy: true, folder })
  // what it lists is kept
  assert.ok((await names(memberOf('ada'))).includes('mail__whoami'))
  await again()
  assert.is((await memberOf('bob').callTool('mail__whoami')).text, 'bob')
})

test('a token that the server refuses is traded for anew, once', async (t) => {
  const { memberOf, came, revoked, trades } = await startExchange(t)
  const ada = memberOf('ada')
  assert.is((await ada.callTool('mail__whoami')).text, 'ada')
  // that of the gateway itself may have come once more meanwhile
  revoked.add(String(came.findLast((token) => decodeJwt(token).sub === 'ada')))
  const before = trades()
  assert.is((await ada.callTool('mail__whoami')).text, 'ada')
  assert.is(trades() - before, 1)
})

test('a token that the provider does not know is refused, and shown to nobody', async (t) => {
  const { memberOf } = await startExchange(t, { isByName: true })
  const client = memberOf('no-token-of-the-provider')
  await until(async () => (await names(client)).includes('mail__whoami'))
  const error = String(await client.callTool('mail__whoami').catch((cause: unknown) => cause))
  assert.match(error, /mail: tools\/call: the server cannot be reached/)
  assert.not.match(error, /no-token-of-the-provider/)
})

test.run()
