import { defineServer, defineTool, field } from 'caduceus'
import { connect } from 'caduceus/testing'
import { z } from 'zod'

const addUser = defineTool({
  description: 'Adds a user.',
  input: {
    email: z.email(), // schemas of any library stand beside fields
    age: field.integer({ range: [0, 150], description: 'Age in years' }).optional(),
    birthday: field.date().optional(),
    role: field.enum(['admin', 'guest'], { default: 'guest' }),
  },
  output: { id: field.string(), role: field.string() },
  run: ({ email, role }) => ({ id: `user:${email}`, role }), // typed by input and output, and checked against them
})

await using pair = await connect(defineServer({ name: 'users', version: '1.0.0', tools: { addUser } }))
const { tools } = await pair.client.listTools()
console.log(tools[0]?.name)
console.log((await pair.client.callTool('add_user', { email: 'ada@example.com' })).structuredContent)
console.log((await pair.client.callTool('add_user', { email: 'ada', age: 151, birthday: '2024-02-30' })).text)
