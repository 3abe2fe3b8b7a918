import { defineServer, defineTool, field, ToolError } from 'caduceus'

const divide = defineTool({
  name: 'divide',
  description: 'Divides one number by another.',
  input: { a: field.number(), b: field.number({ description: 'Any number but 0.' }) },
  run({ a, b }) {
    if (b === 0) throw new ToolError('Cannot divide by zero.') // the model reads this, and may try again
    return `${a} / ${b} = ${a / b}`
  },
})

export const calculator = defineServer({ name: 'calculator', version: '1.0.0', tools: [divide] })
