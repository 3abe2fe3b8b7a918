import { definePrompt, defineTool, type ToolContext } from 'caduceus'
import type { FormSchema } from 'caduceus/protocol'

const name: FormSchema = {
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
}
const confirmation: FormSchema = {
  type: 'object',
  properties: { ok: { type: 'boolean' } },
  required: ['ok'],
}

const byUser = defineTool({
  name: 'test_input_required_result_elicitation',
  description: 'Asks the user for a name.',
  run: async (_, ctx) => `Hello, ${await askName(ctx, 'user_name')}!`,
})

const byModel = defineTool({
  name: 'test_input_required_result_sampling',
  description: 'Asks the model of the client.',
  run: (_, ctx) => sample(ctx, 'capital_question', 'What is the capital of France?'),
})

const byRoots = defineTool({
  name: 'test_input_required_result_list_roots',
  description: 'Asks for the roots of the client.',
  run: async (_, ctx) => `Roots: ${(await ctx.roots('client_roots')).map(({ uri }) => uri).join(', ')}`,
})

const withState = defineTool({
  name: 'test_input_required_result_request_state',
  description: 'Remembers across a question what it has done before.',
  async run(_, ctx) {
    const state = await ctx.once('state', () => 'state-ok')
    await ctx.elicit('confirm', { message: 'Please confirm', requestedSchema: confirmation })
    return state
  },
})

const several = defineTool({
  name: 'test_input_required_result_multiple_inputs',
  description: 'Asks the user, the model and for the roots, all at once.',
  async run(_, ctx) {
    const [who, greeting, roots] = await Promise.all([
      askName(ctx, 'user_name'),
      sample(ctx, 'greeting', 'Generate a greeting'),
      ctx.roots('client_roots'),
    ])
    return `${greeting} ${who}, ${roots.length} root(s)`
  },
})

const severalRounds = defineTool({
  name: 'test_input_required_result_multi_round',
  description: 'Asks the user twice.',
  async run(_, ctx) {
    const who = await askName(ctx, 'step1')
    const { content } = await ctx.elicit('step2', {
      message: 'Step 2: What is your favorite color?',
      requestedSchema: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] },
    })
    return `${who} likes ${content?.color}`
  },
})

const tampered = defineTool({
  name: 'test_input_required_result_tampered_state',
  description: 'Has a state that nobody else can write.',
  async run(_, ctx) {
    await ctx.elicit('confirm', { message: 'Please confirm', requestedSchema: confirmation })
    return 'The state is as it was.'
  },
})

const asCapable = defineTool({
  name: 'test_input_required_result_capabilities',
  description: 'Asks only for what the client can do.',
  async run(_, ctx) {
    const { elicitation, sampling } = ctx.session.capabilities
    const answers = await Promise.all([
      elicitation === undefined ? 'nobody' : askName(ctx, 'user_name'),
      sampling === undefined ? 'nothing' : sample(ctx, 'greeting', 'Generate a greeting'),
    ])
    return answers.join(': ')
  },
})

const incapable = defineTool({
  name: 'test_missing_capability',
  description: 'Needs a model.',
  run: (_, ctx) => sample(ctx, 'question', 'What now?'),
})

/** Tools that need an answer of the client, which a client without sessions brings along when it calls again. */
export const roundsTools = [
  byUser,
  byModel,
  byRoots,
  withState,
  several,
  severalRounds,
  tampered,
  asCapable,
  incapable,
]

/** The same for prompts. */
export const roundsPrompts = [
  definePrompt({
    name: 'test_input_required_result_prompt',
    description: 'Asks the user for the context.',
    async get(_, ctx) {
      const { content } = await ctx.elicit('user_context', {
        message: 'What context should the prompt use?',
        requestedSchema: {
          type: 'object',
          properties: { context: { type: 'string' } },
          required: ['context'],
        },
      })
      return `Use the following context: ${content?.context}`
    },
  }),
]

async function askName(ctx: ToolContext, key: string): Promise<string> {
  const { content } = await ctx.elicit(key, { message: 'What is your name?', requestedSchema: name })
  return String(content?.name)
}

async function sample(ctx: ToolContext, key: string, prompt: string): Promise<string> {
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: prompt } }]
  const { content } = await ctx.sample(key, { messages, maxTokens: 100 })
  return [content]
    .flat()
    .map((block) => (block.type === 'text' ? block.text : block.type))
    .join(' ')
}
