import {
  defineServer,
  defineTool,
  gateway,
  http,
  jwt,
  oauth,
  type Principal,
  serveHttp,
  startClient,
  startServer,
} from 'caduceus'
import { freePort, startLogin } from '../auth/login.js' // an authorization server

await using login = await startLogin()
const [mailAt, teamAt] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}/mcp`)

// a server as others write it, which takes tokens that are for itself only
const mail = defineServer({
  name: 'mail',
  version: '1.0.0',
  tools: {
    whoami: defineTool({
      run: (_args, { principal }) => `${principal?.subject} by way of ${principal?.clientId}`,
    }),
  },
})
await using _mail = await startServer(mail, { transport: listen(mailAt), logger: false })

/** A token of the same person may be for less. */
const keyOf = ({ subject, scopes = [] }: Principal): string => JSON.stringify([subject, ...scopes])
/** The token that each principal came with last. */
const came = new Map<string, string>()
/** What it has been exchanged for, and when that ends, in ms since 1970. */
const exchanged = new Map<string, { readonly token: string; readonly until: number }>()

/** A token of the principal for the server behind the gateway (RFC 8693). */
async function tokenFor(principal: Principal): Promise<string> {
  const key = keyOf(principal)
  const known = exchanged.get(key)
  if (known !== undefined && known.until > Date.now() + 10_000) return known.token
  const response = await fetch(`${login.issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('gateway:s')}` },
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: came.get(key) ?? '',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      resource: String(mailAt),
    }),
    signal: AbortSignal.timeout(5_000),
  })
  if (!response.ok) throw new Error(`no token for ${principal.subject}: ${response.status}`)
  const { access_token: token, expires_in: seconds } = (await response.json()) as {
    access_token: string
    expires_in: number
  }
  exchanged.set(key, { token, until: Date.now() + seconds * 1_000 })
  return token
}

const own = oauth({
  client: { id: 'gateway', secret: 's', issuer: login.issuer },
  grant: 'client_credentials',
})
const team = gateway({
  mail: {
    per: 'principal',
    start({ answers, principal, signal }) {
      if (principal !== undefined) signal.addEventListener('abort', () => exchanged.delete(keyOf(principal)))
      // for nobody, to tell what there is: the gateway as itself
      const auth = principal === undefined ? own : () => tokenFor(principal)
      return startClient({ ...answers(), transport: http(String(mailAt), { auth }) })
    },
  },
})
await using _team = await startServer(team, { transport: listen(teamAt, came), logger: false })

for (const id of ['ada', 'bob']) {
  await using auth = oauth({ client: { id, secret: 's', issuer: login.issuer }, grant: 'client_credentials' })
  await using client = startClient({ transport: http(String(teamAt), { auth }) })
  console.log((await client.callTool('mail__whoami')).text)
}
await own.close()

/** Listens for those with a token for this address, which `tokens` keeps. */
function listen(resource = '', tokens?: Map<string, string>) {
  const check = jwt({ issuer: login.issuer })
  return serveHttp({
    port: Number(new URL(resource).port),
    auth: {
      resource,
      authorizationServers: [login.issuer],
      async verify(token, use) {
        const principal = await check(token, use)
        if (principal !== undefined) tokens?.set(keyOf(principal), token)
        return principal
      },
    },
  })
}
