import { defineServer, defineTool, field } from 'caduceus/fetch'

const greet = defineTool({
  name: 'greet',
  input: { whom: field.string() },
  run: ({ whom }) => `hello ${whom}`,
})

export const greeter = defineServer({ name: 'greeter', version: '1.0.0', tools: [greet] })
