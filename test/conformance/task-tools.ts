import { setTimeout } from 'node:timers/promises'
import { defineTool, field, ToolError } from 'caduceus'
import { McpError, type FormSchema } from 'caduceus/protocol'

const confirmation: FormSchema = {
  type: 'object',
  properties: { confirm: { type: 'boolean' } },
  required: ['confirm'],
}
const name: FormSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }

const greet = defineTool({
  name: 'greet',
  description: 'Greets, at once.',
  input: { name: field.string({ default: 'world' }) },
  run: (args) => `Hello, ${args.name}!`,
})

const slowCompute = defineTool({
  name: 'slow_compute',
  description: 'Takes as many seconds.',
  input: { seconds: field.number({ default: 1 }), label: field.string({ default: '' }) },
  task: 'optional',
  async run({ seconds, label }, ctx) {
    await setTimeout(seconds * 1_000, undefined, { signal: ctx.signal })
    return `computed ${label} in ${seconds} s`
  },
})

const failingJob = defineTool({
  name: 'failing_job',
  description: 'Fails after a second.',
  task: 'required',
  async run(_args, ctx) {
    await setTimeout(1_000, undefined, { signal: ctx.signal })
    throw new ToolError('The job has failed.')
  },
})

const protocolErrorJob = defineTool({
  name: 'protocol_error_job',
  description: 'Ends with a JSON-RPC error.',
  task: 'optional',
  async run(_args, ctx) {
    await setTimeout(500, undefined, { signal: ctx.signal })
    throw McpError.internal('The job is broken.')
  },
})

const confirmDelete = defineTool({
  name: 'confirm_delete',
  description: 'Asks before it deletes.',
  input: { filename: field.string({ default: 'a file' }) },
  task: 'optional',
  async run({ filename }, ctx) {
    const { action, content } = await ctx.elicit('confirm', {
      message: `Delete ${filename}?`,
      requestedSchema: confirmation,
    })
    return action === 'accept' && content?.confirm === true ? `deleted ${filename}` : `kept ${filename}`
  },
})

const multiInput = defineTool({
  name: 'multi_input',
  description: 'Asks two questions at once.',
  task: 'optional',
  async run(_args, ctx) {
    const answers = await Promise.all(
      ['first', 'second'].map((key) =>
        ctx.elicit(key, { message: `The ${key} name?`, requestedSchema: name }),
      ),
    )
    return answers.map(({ content }) => content?.name).join(' and ')
  },
})

const withTask = defineTool({
  name: 'test_tool_with_task',
  description: 'Asks for a name, and then becomes a task.',
  task: 'optional',
  prepare: (_args, ctx) => ctx.elicit('user_name', { message: 'Your name?', requestedSchema: name }),
  async run(_args, ctx) {
    const { content } = await ctx.elicit('user_name', { message: 'Your name?', requestedSchema: name })
    await setTimeout(200, undefined, { signal: ctx.signal })
    return `Hello, ${content?.name}!`
  },
})

export const taskTools = [
  greet,
  slowCompute,
  failingJob,
  protocolErrorJob,
  confirmDelete,
  multiInput,
  withTask,
]
