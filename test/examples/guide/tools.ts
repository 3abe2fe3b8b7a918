import { defineServer, defineTool, field, json, text, ToolError } from 'caduceus'
import { connect } from 'caduceus/testing'
import { z } from 'zod'

const book = defineTool({
  name: 'book',
  title: 'Book a table',
  annotations: { destructiveHint: false, idempotentHint: false },
  input: {
    name: z.string().min(2), // any library that follows Standard Schema
    guests: field.integer({ range: [1, 12] }),
    day: field.date(),
  },
  output: { number: field.integer() },
  run({ guests, day }) {
    if (day.toString() < '2026-01-01') throw new ToolError('That day is over.') // told to the model
    return { number: guests * 100 } // checked against `output`
  },
})
const many = defineTool({ name: 'many', run: () => [text('several'), json({ blocks: 2 })] })

await using pair = await connect(defineServer({ name: 'inn', version: '1.0.0', tools: [book, many] }))
const call = async (args: object) => console.log((await pair.client.callTool('book', { ...args })).text)
await call({ name: 'Ada', guests: 4, day: '2026-12-24' })
await call({ name: 'A', guests: 40 })
await call({ name: 'Ada', guests: 4, day: '2020-12-24' })
console.log((await pair.client.callTool('many')).content.length)
