import { defineServer, defineTool, field, memory, startClient, startServer } from 'caduceus'

const divide = defineTool({
  name: 'divide',
  input: { a: field.number(), b: field.number({ default: 2 }) },
  output: { result: field.number() },
  run: ({ a, b }) => ({ result: a / b }),
})
const calculator = defineServer({ name: 'calculator', version: '1.0.0', tools: [divide] })

const { serve, connect } = memory()
await using _server = await startServer(calculator, { transport: serve, logger: false })
await using client = startClient<typeof calculator>({ transport: connect })

const { structuredContent } = await client.tools.divide({ a: 7 }) // b has a default
console.log(structuredContent?.result.toFixed(1)) // a number
