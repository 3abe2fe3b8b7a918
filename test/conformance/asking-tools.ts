import { defineTool } from 'caduceus'

const sampling = defineTool({
  name: 'test_sampling',
  description: 'Hands a prompt to the model of the client.',
  input: { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
  async run({ prompt }, ctx) {
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: prompt } }]
    const { content } = await ctx.sample('answer', { messages, maxTokens: 100 })
    const texts = [content].flat().map((block) => (block.type === 'text' ? block.text : block.type))
    return `LLM response: ${texts.join(' ')}`
  },
})

const elicitation = defineTool({
  name: 'test_elicitation',
  description: 'Asks the user for a name and an address.',
  input: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
  async run({ message }, ctx) {
    const answer = await ctx.elicit('user', {
      message,
      requestedSchema: {
        type: 'object',
        properties: {
          username: { type: 'string', description: "User's response" },
          email: { type: 'string', description: "User's email address" },
        },
        required: ['username', 'email'],
      },
    })
    return `User response: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`
  },
})

const defaults = defineTool({
  name: 'test_elicitation_sep1034_defaults',
  description: 'Asks with a form whose fields are filled in already (SEP-1034).',
  async run(_, ctx) {
    const answer = await ctx.elicit('profile', {
      message: 'Please review and update the form fields with defaults',
      requestedSchema: {
        type: 'object',
        properties: {
          name: { type: 'string', default: 'John Doe' },
          age: { type: 'integer', default: 30 },
          score: { type: 'number', default: 95.5 },
          status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
          verified: { type: 'boolean', default: true },
        },
      },
    })
    return `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`
  },
})

const titled = [
  { const: 'value1', title: 'First Option' },
  { const: 'value2', title: 'Second Option' },
  { const: 'value3', title: 'Third Option' },
]

const choices = defineTool({
  name: 'test_elicitation_sep1330_enums',
  description: 'Asks with every kind of choice (SEP-1330).',
  async run(_, ctx) {
    const answer = await ctx.elicit('choices', {
      message: 'Please select options from the enum fields',
      requestedSchema: {
        type: 'object',
        properties: {
          untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
          titledSingle: { type: 'string', oneOf: titled },
          legacyEnum: {
            type: 'string',
            enum: ['opt1', 'opt2', 'opt3'],
            enumNames: ['Option One', 'Option Two', 'Option Three'],
          },
          untitledMulti: {
            type: 'array',
            items: { type: 'string', enum: ['option1', 'option2', 'option3'] },
          },
          titledMulti: { type: 'array', items: { anyOf: titled } },
        },
      },
    })
    return `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`
  },
})

/** Tools that ask the client while they run. */
export const askingTools = [sampling, elicitation, defaults, choices]
