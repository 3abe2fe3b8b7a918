import { defineServer, NotificationTarget } from 'caduceus'
import { connect } from 'caduceus/testing'

await using pair = await connect(defineServer({ name: 'news', version: '1.0.0', tools: [], prompts: [] }))
const { client, server } = pair

const stop = client.onNotification('notifications/tools/list_changed', () => console.log('tools: a handler'))
const prompts = client.notifications('notifications/prompts/list_changed') // an iterator
const target = new NotificationTarget(client) // an EventTarget
target.addEventListener('notifications/prompts/list_changed', () => console.log('prompts: an event'))

await server.listChanged('tools')
await server.listChanged('prompts')
for await (const _ of prompts) {
  console.log('prompts: in a loop')
  break // ends the iterator
}
stop()
