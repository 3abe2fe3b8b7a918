import { defineResource, defineServer, defineTool, resourceResult, toolResult } from 'caduceus'
import { connect } from 'caduceus/testing'

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const draw = defineTool({
  name: 'draw',
  description: 'Draws a point.',
  run: () =>
    toolResult()
      .text('Here is the point:')
      .image(dot, 'image/png') // bytes, or their base64
      .link({ uri: 'points://1', name: 'the point as a resource' })
      .json({ x: 0, y: 0 }),
})

const list = defineResource({
  name: 'list',
  uri: 'points://all',
  read: () => resourceResult().json({ points: 1 }).mimeType('application/json').build(),
})

const server = defineServer({ name: 'points', version: '1.0.0', tools: [draw], resources: [list] })
await using pair = await connect(server)
const drawn = await pair.client.callTool('draw')
console.log(drawn.content.map(({ type }) => type).join(', '))
console.log(drawn.images[0]?.mimeType, drawn.images[0]?.data.length)
const read = await pair.client.readResource('points://all')
console.log(read.text, read.contents[0]?.mimeType)
