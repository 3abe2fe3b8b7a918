import { defineServer, defineTool } from 'caduceus'
import { connect } from 'caduceus/testing'

const folders = defineTool({
  name: 'folders',
  async run(_args, ctx) {
    const roots = await ctx.roots('where')
    return roots.map(({ uri }) => uri).join(', ')
  },
})

await using pair = await connect(defineServer({ name: 'files', version: '1.0.0', tools: [folders] }), {
  client: { roots: [{ uri: 'file:///srv/data', name: 'data' }] },
})
console.log((await pair.client.callTool('folders')).text)
pair.client.setRoots([{ uri: 'file:///srv/other' }]) // servers with a session are told
console.log((await pair.client.callTool('folders')).text)
