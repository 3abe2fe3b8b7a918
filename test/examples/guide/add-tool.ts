import { defineServer, defineTool } from 'caduceus'
import { connect } from 'caduceus/testing'

const first = defineTool({ name: 'first', run: () => '1' })
const late = defineTool({ name: 'late', run: () => '2' })

await using pair = await connect(defineServer({ name: 'growing', version: '1.0.0', tools: [first] }))
const changes = pair.client.notifications('notifications/tools/list_changed')
await pair.server.addTool(late)
await changes.next() // all clients are told, once they have initialized
console.log((await pair.client.listTools()).tools.map(({ name }) => name).join(' '))
console.log((await pair.client.callTool('late')).text)
await pair.server.removeTool('late')
console.log(await pair.client.callTool('late').catch(({ message }) => message))
