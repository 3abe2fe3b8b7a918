import { defineServer, defineTool, field, memory, startServer, withClient } from 'caduceus'

// what all sessions share is opened once, before the server takes anybody
const database = await openDatabase()

const add = defineTool({
  name: 'add',
  input: { word: field.string() },
  run: async ({ word }) => `${await database.add(word)} words`,
})
const definition = defineServer({ name: 'words', version: '1.0.0', tools: [add] })
const { serve, connect } = memory()
const server = await startServer(definition, { transport: serve, logger: false })
// `stop()` waits for this, and so does the end of the program by SIGTERM or Ctrl-C
server.onExit(() => database.close())

await withClient({ transport: connect }, async (client) => {
  console.log((await client.callTool('add', { word: 'one' })).text)
  console.log((await client.callTool('add', { word: 'two' })).text)
})
await server.stop()
console.log('stopped')

async function openDatabase() {
  const words: string[] = []
  console.log('open')
  return {
    add: async (word: string) => words.push(word),
    close: async () => console.log('closed'),
  }
}
