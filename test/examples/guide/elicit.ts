import { defineServer, defineTool, field, serveHttp, startServer, http, withClient } from 'caduceus'

const remove = defineTool({
  name: 'remove',
  description: 'Deletes a file.',
  input: { path: field.string() },
  async run({ path }, ctx) {
    const answer = await ctx.elicit('sure', {
      message: `Delete ${path} for good?`,
      form: { sure: field.boolean(), reason: field.string().optional() },
    })
    if (answer.action !== 'accept' || !answer.content.sure) return `${path} was kept.`
    return `${path} was deleted: ${answer.content.reason ?? 'no reason given'}.`
  },
})

const files = defineServer({ name: 'files', version: '1.0.0', tools: [remove] })
await using server = await startServer(files, { transport: serveHttp(), logger: false })

const text = await withClient(
  {
    transport: http(server.url ?? ''),
    onElicit: ({ message }) => {
      console.log('the user is asked:', message)
      return { action: 'accept', content: { sure: true, reason: 'old' } }
    },
  },
  async (client) => (await client.callTool('remove', { path: 'notes.txt' })).text,
)
console.log(text)
