import {
  defineServer,
  defineTool,
  gateway,
  serveHttp,
  startClients,
  startServer,
  withClient,
  http,
} from 'caduceus'

// two servers as others write them
await using notes = await startServer(
  defineServer({
    name: 'notes',
    version: '1.0.0',
    instructions: 'A note has one line.',
    tools: { read: defineTool({ description: 'Reads the note of today.', run: () => 'water the plants' }) },
  }),
  { transport: serveHttp() },
)
await using mail = await startServer(
  defineServer({
    name: 'mail',
    version: '1.0.0',
    tools: {
      read: defineTool({ description: 'Reads the newest letter.', run: () => 'Dear Ada, …' }),
      erase: defineTool({ description: 'Erases all letters.', run: () => 'erased' }),
    },
  }),
  { transport: serveHttp() },
)

// one server that offers what both have
const team = gateway(
  (seat) =>
    startClients(
      { notes: { url: String(notes.url) }, mail: { url: String(mail.url) } },
      { client: seat.answers }, // what the servers ask goes to whoever called them
    ),
  { name: 'team', servers: { mail: { deny: ['erase'], maxCallsPerCaller: 4 } } },
)
await using server = await startServer(team, {
  transport: serveHttp({ port: Number(process.env.PORT ?? 0) }),
})

await withClient({ transport: http(String(server.url)) }, async (client) => {
  for await (const { name } of client.tools()) console.log(name)
  console.log((await client.callTool('notes__read')).text)
  console.log(client.server?.instructions)
})
