import { defineServer, defineTool, field, toAiTools, toLangChainTools, toOpenAiTools } from 'caduceus'
import { connect } from 'caduceus/testing'

const weather = defineTool({
  name: 'weather',
  description: 'The weather of a city.',
  input: { city: field.string() },
  run: ({ city }) => `Sunny in ${city}.`,
})
await using pair = await connect(defineServer({ name: 'sky', version: '1.0.0', tools: [weather] }))

// OpenAI and what speaks like it: give `tools` to the model, and its calls to `call`
const functions = await toOpenAiTools(pair.client)
console.log(functions.tools[0]?.function.name)
const call = {
  id: 'call_1',
  type: 'function',
  function: { name: 'weather', arguments: '{"city":"Oslo"}' },
} as const
console.log(await functions.call(call))

// Vercel's AI SDK: generateText({ model, prompt, tools: await toAiTools(client) })
console.log(Object.keys(await toAiTools(pair.client)))
// LangChain: (await toLangChainTools(client)).map((tool) => new DynamicStructuredTool(tool))
const [tool] = await toLangChainTools(pair.client)
console.log(tool?.name, tool?.description)
