import { defineServer, defineTool, field } from 'caduceus'
import { connect } from 'caduceus/testing'

const report = defineTool({
  description: 'Writes the report of a year.',
  input: { year: field.integer() },
  task: 'optional', // as a task where the client can have one, else as any other call
  async run({ year }, ctx) {
    const figures = await ctx.once('figures', () => [year, year + 1]) // kept, and not done again after a crash
    return `The figures of ${year}: ${figures.join(', ')}`
  },
})

await using pair = await connect(defineServer({ name: 'reports', version: '1.0.0', tools: { report } }))
const { tools } = await pair.client.listTools()
console.log(tools[0]?.execution?.taskSupport)
console.log((await pair.client.callTool('report', { year: 2026 })).text)
