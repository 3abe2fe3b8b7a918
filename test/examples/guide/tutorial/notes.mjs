import { defineServer, defineTool, field, ToolError } from 'caduceus'

const add = defineTool({
  name: 'add',
  description: 'Adds a note.',
  session: true,
  input: { note: field.string({ min: 1 }) },
  run: async ({ note }, ctx) => {
    const notes = await ctx.update('notes', (all = []) => [...all, note])
    return `${notes.length}: ${note}`
  },
})

const break_ = defineTool({
  name: 'break',
  description: 'Fails in a way of your choice.',
  input: { how: field.enum(['politely', 'with a bug', 'on the side', 'never ends']) },
  timeout: 1_000,
  async run({ how }) {
    if (how === 'politely') throw new ToolError('I would rather not.')
    if (how === 'with a bug') return null.length
    if (how === 'on the side') setTimeout(() => JSON.parse('{'), 10)
    return new Promise(() => {})
  },
})

export const notes = defineServer({ name: 'notes', version: '1.0.0', tools: [add, break_] })
