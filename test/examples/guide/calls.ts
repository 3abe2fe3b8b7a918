import { ClientError, defineServer, defineTool, field, McpError, ToolError } from 'caduceus'
import { connect } from 'caduceus/testing'

const server = defineServer({
  name: 'numbers',
  version: '1.0.0',
  tools: {
    half: defineTool({
      input: { of: field.number() },
      output: { half: field.number() },
      run({ of }) {
        if (of === 13) throw new ToolError('Not that one.')
        return { half: of / 2 }
      },
    }),
    hang: defineTool({ run: () => new Promise<string>(() => {}) }),
  },
})

await using pair = await connect(server)
const { client } = pair
const { structuredContent, text, isError } = await client.callTool('half', { of: 5 })
console.log(structuredContent, text, isError)
console.log((await client.tools.half({ of: 7 })).structuredContent?.half) // with types

// a tool that failed is a result: the model reads it
console.log((await client.callTool('half', { of: 13 })).text)
// what the server refuses is an McpError with the code of JSON-RPC
console.log(await client.callTool('third').catch((error) => error instanceof McpError && error.code))
// everything else is a ClientError; `sent` tells whether the server may have begun
const late = await client.callTool('hang', {}, { timeout: 20 }).catch((error: ClientError) => error)
if (late instanceof ClientError) console.log(late.code, late.retryable, (late.data as { sent: boolean }).sent)
