// A server for the tests of the command; with `--stdio` it is a program that speaks over standard input.
import {
  AskError,
  definePrompt,
  defineResource,
  defineServer,
  defineTool,
  field,
  serveStdio,
  startServer,
} from 'caduceus'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: { a: field.number(), b: field.number() },
  run: ({ a, b }) => String(a + b),
})
const echo = defineTool({
  name: 'echo',
  description: 'Says it again.',
  input: { message: field.string() },
  async run({ message }, ctx) {
    ctx.progress(1, 2, 'half way')
    return message
  },
})
const fail = defineTool({
  name: 'fail',
  run: () => ({ content: [{ type: 'text', text: 'it broke' }], isError: true }) as const,
})
const greet = defineTool({
  name: 'greet',
  description: 'Asks for a name.',
  async run(_, ctx) {
    try {
      const form = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } as const
      const { content } = await ctx.elicit('who', {
        message: 'Who are you?',
        requestedSchema: { ...form, required: ['name'] },
      })
      return `hello ${content?.name}`
    } catch (error) {
      if (error instanceof AskError) return 'nobody answered'
      throw error
    }
  },
})
const wait = defineTool({
  name: 'wait',
  description: 'Waits until it is given up.',
  async run(_, ctx) {
    ctx.progress(1, 4, 'waiting')
    return await new Promise<string>((_resolve, reject) =>
      ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)),
    )
  },
})
const visit = defineTool({
  name: 'visit',
  description: 'Asks for a visit of a page.',
  async run(_, ctx) {
    const { action } = await ctx.elicit('pay', {
      mode: 'url',
      message: 'Pay here.',
      url: 'https://example.com/pay',
    })
    return `paid: ${action}`
  },
})
const note = defineResource({ uri: 'note://first', name: 'first', read: () => 'a note' })
const review = definePrompt({
  name: 'review',
  arguments: { language: field.string() },
  get: ({ language }) => `Review this in ${language}.`,
  complete: { language: (start) => ['en', 'de'].filter((word) => word.startsWith(start)) },
})

export const definition = defineServer({
  name: 'sample',
  version: '1.0.0',
  tools: [add, echo, fail, greet, visit, wait],
  resources: [note],
  prompts: [review],
})

if (process.argv.includes('--stdio'))
  await startServer(definition, { transport: serveStdio(), logger: false })
