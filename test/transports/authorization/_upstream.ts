import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { type Client, oauth, startClient } from 'caduceus/client'
import {
  defineResource,
  defineServer,
  defineTool,
  gateway,
  type StartedUpstream,
  startServer,
} from 'caduceus/server'
import { fakeIdentityProvider } from 'caduceus/testing'
import { type Authenticate, http, oidc, serveHttp, signIn } from 'caduceus/transports'
import { freePort } from '../../support/free-port.js'
import type { TestContext } from '../../support/suite.js'
import { Browser, type Page } from './_browser.js'

/** A server that wants a sign-in, and tells who calls. */
export async function startMail(t: TestContext, options: { readonly accessToken?: number } = {}) {
  const provider = await fakeIdentityProvider()
  t.after(() => provider.close())
  const { issuer, clientId, clientSecret } = provider
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/mcp`
  const auth = signIn({
    with: oidc({ issuer, clientId, clientSecret }),
    resource: url,
    lifetimes: { ...options },
  })
  const whoami = defineTool({
    name: 'whoami',
    description: 'Tells who calls.',
    run: (_args, { principal }) => String(principal?.subject),
  })
  const tokens = new Set<string>()
  const hear = (message: unknown): void => {
    const { request } = message as { readonly request: IncomingMessage }
    const { authorization } = request.headers
    if (request.socket.localPort === port && authorization?.startsWith('Bearer ') === true)
      tokens.add(authorization.slice('Bearer '.length))
  }
  subscribe('http.server.request.start', hear)
  t.after(() => unsubscribe('http.server.request.start', hear))
  const newest = defineResource({ uri: 'mail://newest', name: 'newest', read: () => 'Dear Ada, …' })
  const definition = defineServer({ name: 'mail', version: '1.0.0', tools: [whoami], resources: [newest] })
  const server = await startServer(definition, {
    transport: serveHttp({ port, auth }),
    logger: false,
  })
  t.after(() => server.stop())
  return { url, provider, auth, tokens }
}

/** Whoever comes with a name as token is the one of that name. */
export const byName: Authenticate = ({ headers }) => ({
  issuer: 'urn:test',
  subject: String(headers.authorization).replace('Bearer ', ''),
})

/** A gateway in front of `mail`, where each user has a login of their own. */
export function teamOf(mail: { readonly url: string }, more: Partial<StartedUpstream> = {}) {
  return gateway(
    {
      mail: {
        per: 'principal',
        auth: 'oauth',
        lists: 'shared',
        start: ({ answers, login }) =>
          startClient({
            ...answers(),
            transport: http(mail.url, { auth: oauth(login()) }),
            logger: false,
          }),
        ...more,
      },
    },
    { name: 'team' },
  )
}

export async function startTeam(
  t: TestContext,
  mail: { readonly url: string },
  more?: Partial<StartedUpstream>,
) {
  const server = await startServer(teamOf(mail, more), {
    transport: serveHttp({ authenticate: byName }),
    logger: false,
  })
  t.after(() => server.stop())
  return server
}

/** The client of a user of the gateway; with `visit` it shows pages. */
export function member(
  t: TestContext,
  url: string,
  name: string,
  visit?: (address: string) => Promise<unknown>,
) {
  const asked: string[] = []
  const client = startClient({
    transport: http(url, { auth: name }),
    logger: false,
    ...(visit !== undefined && {
      onElicit: {
        url: async ({ url: address }) => {
          asked.push(address)
          await visit(address)
          return { action: 'accept' as const }
        },
      },
    }),
  })
  t.after(() => client.close())
  return { client, asked }
}

/** The names of all tools that somebody is shown. */
export async function names(client: Client): Promise<string[]> {
  const found: string[] = []
  for await (const { name } of client.tools()) found.push(name)
  return found
}

/** Goes through all pages of a sign-in, and presses what lets it go on. */
export async function goThrough(
  address: string,
  browser = new Browser(),
  until: (url: URL) => boolean = () => false,
): Promise<Page> {
  let page = await browser.open(address, until)
  while (page.text.includes('<form')) page = await browser.press(page, 'allow', until)
  return page
}
