/** A server of the official SDK 2.x on standard input and output; the tests over HTTP make their own of the same parts. */
export async function officialParts() {
  const { McpServer, acceptedContent, inputRequired } = await import('@modelcontextprotocol/server')
  const { z } = await import('zod')
  const sure = z.object({ sure: z.boolean().default(true) })
  return () => {
    const server = new McpServer(
      { name: 'official', version: '2' },
      { capabilities: { tools: { listChanged: true }, resources: { subscribe: true } } },
    )
    server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
      content: [{ type: 'text', text }],
    }))
    server.registerTool('ask', { inputSchema: z.object({}) }, (_args, ctx) => {
      const answer = acceptedContent(ctx.mcpReq.inputResponses, 'sure', sure)
      if (answer !== undefined) return { content: [{ type: 'text', text: `sure: ${answer.sure}` }] }
      const question = inputRequired.elicit({ message: 'Sure?', requestedSchema: sure })
      return inputRequired({ inputRequests: { sure: question } })
    })
    server.registerResource('page', 'x:page', {}, () => ({ contents: [{ uri: 'x:page', text: 'a page' }] }))
    return server
  }
}
