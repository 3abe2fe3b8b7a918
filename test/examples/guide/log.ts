import { defineServer, defineTool } from 'caduceus'
import { connect } from 'caduceus/testing'

const sync = defineTool({
  name: 'sync',
  run(_args, ctx) {
    ctx.log('debug', 'nobody wants this')
    ctx.log('warning', { message: 'one file was skipped', file: 'a.tmp' }, 'sync')
    return 'done'
  },
})

// `logging: true` is the capability; without it nothing is sent
await using pair = await connect(
  defineServer({ name: 'files', version: '1.0.0', logging: true, tools: [sync] }),
)
pair.client.onNotification('notifications/message', ({ level, logger, data }) =>
  console.log(level, logger, JSON.stringify(data)),
)
await pair.client.setLevel('info') // asked for again after every reconnect
console.log((await pair.client.callTool('sync')).text)
