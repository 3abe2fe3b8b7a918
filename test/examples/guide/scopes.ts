import { defineServer, defineTool, http, serveHttp, startServer, withClient } from 'caduceus'

const read = defineTool({ name: 'read', run: (_args, ctx) => `for ${ctx.principal?.subject}` })
const wipe = defineTool({ name: 'wipe', scopes: ['admin'], run: () => 'all gone' })
const people = new Map([
  ['ada', ['admin']],
  ['bob', []],
])

await using server = await startServer(defineServer({ name: 'db', version: '1.0.0', tools: [read, wipe] }), {
  transport: serveHttp({
    // who calls: here the token is the name; undefined refuses with 401
    authenticate({ headers }) {
      const subject = String(headers.authorization).replace('Bearer ', '')
      const scopes = people.get(subject)
      return scopes && { issuer: 'https://login.example.com', subject, scopes }
    },
  }),
  logger: false,
})

for (const auth of ['ada', 'bob']) {
  await withClient({ transport: http(server.url ?? '', { auth }) }, async (client) => {
    const { tools } = await client.listTools()
    console.log(auth, tools.map(({ name }) => name).join(' '))
    console.log(
      await client.callTool('wipe').then(
        ({ text }) => text,
        ({ code }) => code,
      ),
    )
  })
}
const stranger = { method: 'POST', headers: { authorization: 'Bearer mallory' } }
console.log('mallory', (await fetch(server.url ?? '', stranger)).status)
