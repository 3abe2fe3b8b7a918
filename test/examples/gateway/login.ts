import {
  defineServer,
  defineTool,
  gateway,
  http,
  oauth,
  serveHttp,
  startClient,
  startServer,
  withClient,
} from 'caduceus'
import { github, signIn } from 'caduceus/transports'
import { freePort } from '../auth/login.js'

// a server as others write it, whose users sign in with GitHub
const mailAt = `http://127.0.0.1:${await freePort()}/mcp`
const read = defineTool({ name: 'read', run: (_args, { principal }) => `Dear ${principal?.subject}, …` })
await using _mail = await startServer(defineServer({ name: 'mail', version: '1.0.0', tools: [read] }), {
  transport: serveHttp({
    port: Number(new URL(mailAt).port),
    auth: signIn({ with: github({ clientId: 'mail', clientSecret: 's3cret' }), resource: mailAt }),
  }),
  logger: false,
})

const team = gateway({
  mail: {
    per: 'principal',
    auth: 'oauth', // each user signs in there
    lists: 'shared', // it lists the same to all of them, and nothing to others
    start: ({ answers, login }) =>
      startClient({ ...answers(), transport: http(mailAt, { auth: oauth(login()) }), logger: false }),
  },
})
await using server = await startServer(team, {
  // who calls: in earnest signIn(), as above
  transport: serveHttp({ authenticate: () => ({ issuer: 'example', subject: 'ada' }) }),
  logger: false,
})

await withClient({ transport: http(String(server.url)) }, async (client) => {
  for await (const { name } of client.tools()) console.log(name)
  // this client shows no pages: it is told the address
  console.log((await client.callTool('mail__sign_in')).text.replace(/http\S+/, 'http://…'))
})
