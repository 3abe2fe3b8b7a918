import { defineMethod, defineServer, field, http, serveHttp, startClient, startServer } from 'caduceus'

const search = 'com.example/search'
const library = defineServer({
  name: 'library',
  version: '1.0.0',
  extensions: { [search]: { languages: ['en', 'nl'] } }, // settings, for clients to read
  methods: {
    'search/find': defineMethod({
      extension: search, // only for clients that declare it, too
      params: { text: field.string() },
      run: ({ text }) => ({ found: ['Moby-Dick', 'Middlemarch'].filter((title) => title.includes(text)) }),
    }),
  },
})

await using server = await startServer(library, { transport: serveHttp(), logger: false })
const transport = http(server.url ?? '')
await using client = startClient({ transport, extensions: { [search]: {} } })
await client.ready()
client.require(`extensions.${search}`) // throws NOT_SUPPORTED for a server without it
console.log(client.server?.capabilities.extensions?.[search])
console.log(await client.request('search/find', { text: 'Moby' }))

await using other = startClient({ transport })
await other.request('search/find', { text: 'Moby' }).catch(({ message }: Error) => console.log(message))
