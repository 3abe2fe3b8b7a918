import {
  defineServer,
  defineTool,
  gateway,
  http,
  jwt,
  oauth,
  serveHttp,
  startClient,
  startServer,
} from 'caduceus'
import { freePort, startLogin } from '../auth/login.js' // an authorization server

await using login = await startLogin()
const { issuer } = login
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

const team = gateway({
  mail: {
    per: 'principal',
    auth: { exchange: { issuer, client: { id: 'gateway', secret: 's' }, resource: String(mailAt) } },
    start: ({ answers, token }) =>
      startClient({ ...answers(), transport: http(String(mailAt), { auth: token }) }),
  },
})
await using _team = await startServer(team, { transport: listen(teamAt), logger: false })

for (const id of ['ada', 'bob']) {
  await using auth = oauth({ client: { id, secret: 's', issuer }, grant: 'client_credentials' })
  await using client = startClient({ transport: http(String(teamAt), { auth }) })
  console.log((await client.callTool('mail__whoami')).text)
}

/** Listens for those with a token for this address. */
function listen(resource = '') {
  const auth = { resource, authorizationServers: [issuer], verify: jwt({ issuer }) }
  return serveHttp({ port: Number(new URL(resource).port), auth })
}
