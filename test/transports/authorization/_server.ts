// A server whose users sign in at a fake provider, and a client that has no tokens yet.
import { oauth, type OAuthOptions, type SignIn, startClient } from 'caduceus/client'
import type { Clock } from 'caduceus/runtime'
import {
  defineServer,
  defineTool,
  type ServerDefinition,
  type ServerOptions,
  startServer,
} from 'caduceus/server'
import { type FakeIdentityProviderOptions, fakeIdentityProvider } from 'caduceus/testing'
import {
  github,
  http,
  type IdentityProvider,
  oidc,
  serveHttp,
  signIn,
  type SignInOptions,
} from 'caduceus/transports'
import { freePort } from '../../support/free-port.js'
import type { TestContext } from '../../support/suite.js'
import { Browser, type Page } from './_browser.js'

/** A tool that tells who calls. */
const whoami = defineTool({
  name: 'whoami',
  run: (_args, { principal }) => JSON.stringify(principal ?? 'nobody'),
})
const write = defineTool({ name: 'write', scopes: ['write'], run: () => 'written' })
const credentials = defineTool({
  name: 'credentials',
  async run(_args, ctx) {
    const { accessToken } = await ctx.credentials()
    return JSON.stringify({ accessToken })
  },
})
export const shop = defineServer({ name: 'shop', version: '1.0.0', tools: [whoami, write, credentials] })

interface Wishes extends Partial<Omit<SignInOptions, 'with' | 'resource'>> {
  readonly fake?: FakeIdentityProviderOptions
  readonly engine?: ServerOptions['engine']
  readonly provider?: IdentityProvider
  readonly port?: number
  readonly clock?: Clock
  /** Default: the shop. */
  readonly definition?: ServerDefinition
  /** The path of MCP. Default `/mcp`. */
  readonly at?: string
  /** Sees the sign-in before the server begins with it. */
  readonly prepare?: (auth: ReturnType<typeof signIn>) => void
}

export async function start(
  t: TestContext,
  { fake, engine, provider, port, clock, at = '/mcp', definition = shop, prepare, ...options }: Wishes = {},
) {
  const login = await fakeIdentityProvider(fake)
  t.after(() => login.close())
  const { issuer, clientId, clientSecret } = login
  const known =
    fake?.github === true
      ? github({ url: issuer, clientId, clientSecret })
      : oidc({ issuer, clientId, clientSecret })
  const own = port ?? (await freePort())
  const resource = `http://127.0.0.1:${own}${at}`
  const auth = signIn({ with: provider ?? known, resource, ...options })
  prepare?.(auth)
  const run = () =>
    startServer(definition, {
      transport: serveHttp({ port: own, auth, path: at === '' ? '/' : at }),
      logger: false,
      ...(engine !== undefined && { engine }),
      ...(clock !== undefined && { clock }),
    })
  const server = await run()
  t.after(() => server.stop())
  return { login, server, auth, resource, origin: new URL(resource).origin, port: own }
}

/** Signs a client in: `decide` sees the page, and says which button is pressed. */
export function signedIn(
  t: TestContext,
  resource: string,
  decide: (page: Page) => string = () => 'allow',
  { browser = new Browser(), ...more }: OAuthOptions & { readonly browser?: Browser } = {},
) {
  const pages: Page[] = []
  const redirectUri = 'http://127.0.0.1:1/callback'
  const isBack = (url: URL): boolean => url.href.startsWith(redirectUri)
  const signIn: SignIn = {
    begin: async () => ({
      redirectUri,
      async authorize(address) {
        const page = await browser.open(address, isBack)
        if (isBack(page.url)) return page.url.searchParams
        pages.push(page)
        const last = await browser.press(page, decide(page), isBack)
        if (!isBack(last.url)) throw new Error(`${last.url}: ${last.status} ${last.text}`)
        return last.url.searchParams
      },
    }),
  }
  const auth = oauth({ signIn, ...more })
  t.after(() => auth.close())
  const client = startClient({ transport: http(resource, { auth }), logger: false })
  t.after(() => client.close())
  return { auth, client, browser, pages }
}
