import { randomUUID } from 'node:crypto'
import {
  type AskError,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  type ServerDefinitionOptions,
  type ToolContext,
} from 'caduceus/server'

/** A question with a form for one text. */
export function ask(field: string, message = `${field}?`) {
  return {
    message,
    requestedSchema: {
      type: 'object' as const,
      properties: { [field]: { type: 'string' as const, minLength: 1 } },
      required: [field],
    },
  }
}

async function threeRounds(ctx: ToolContext): Promise<string> {
  const name = await ctx.elicit('name', ask('name'))
  const paid = await ctx.once('pay', () => randomUUID())
  const age = await ctx.elicit('age', ask('age', `age? ${paid}`))
  const told = await ctx.once('tell', () => randomUUID())
  const city = await ctx.elicit('city', ask('city', `city? ${paid} ${told}`))
  const contents = [name, age, city].map(({ content }) => content)
  return JSON.stringify([contents, paid === (await ctx.once('pay', () => randomUUID())), paid, told])
}

const handlers: Record<string, (ctx: ToolContext) => unknown> = {
  three: threeRounds,
  async together(ctx) {
    const user = ctx.elicit('who', ask('name'))
    const model = ctx.sample('think', {
      messages: [{ role: 'user', content: { type: 'text', text: 'Think' } }],
      maxTokens: 10,
    })
    const places = ctx.roots('places')
    const later = Promise.resolve().then(() => ctx.elicit('later', ask('later')))
    const [who, thought, roots, late] = await Promise.all([user, model, places, later])
    return [who, thought.content, roots, late.action]
  },
  async decline(ctx) {
    return (await ctx.elicit('who', ask('name'))).action
  },
  /** A wrong answer is heard of, and the same key is asked again. */
  async again(ctx) {
    const problems: string[] = []
    for (;;) {
      try {
        const { content } = await ctx.elicit('who', ask('name'))
        return [content, ...problems]
      } catch (error) {
        problems.push((error as AskError).code)
        if (problems.length > 4) throw error
      }
    }
  },
  async facts(ctx) {
    ctx.progress(1)
    ctx.log('info', 'before')
    const before = ctx.requestId
    await ctx.elicit('who', ask('name'))
    ctx.progress(2)
    ctx.log('info', 'after')
    const { requestId, session } = ctx
    return [before === requestId, requestId, session]
  },
  async capable(ctx) {
    const sampled = await ctx.sample('think', { messages: [], maxTokens: 1 }).then(
      () => 'sampled',
      (error: AskError) => error.code,
    )
    return [sampled, (await ctx.elicit('who', ask('name'))).action]
  },
  needs: (ctx) => ctx.elicit('visit', { mode: 'url', message: 'Visit', url: 'https://a.example/' }),
  async crash(ctx) {
    await ctx.elicit('who', ask('name'))
    throw new Error('secret')
  },
  async large(ctx) {
    await ctx.once('large', () => 'x'.repeat(70_000))
    return ctx.elicit('who', ask('name'))
  },
  async endless(ctx) {
    for (let round = 0; ; round++) await ctx.elicit(`q${round}`, ask('name'))
  },
  ping: (ctx) =>
    ctx.ping().then(
      () => 'pong',
      (error: AskError) => error.code,
    ),
}

const tools = Object.entries(handlers).map(([name, run]) =>
  defineTool({
    name,
    input: { type: 'object' },
    run: async (_args, ctx) => {
      const value = await run(ctx)
      return typeof value === 'string' ? value : JSON.stringify(value)
    },
  }),
)

/** Everything that may ask, and what it makes of the answers: the same in every way of running it. */
export const parts: Partial<ServerDefinitionOptions> = {
  logging: true,
  tools,
  prompts: [
    definePrompt({
      name: 'three',
      arguments: [{ name: 'about' }],
      complete: { about: async (_value, _chosen, ctx) => [String(await handlers.decline?.(ctx))] },
      get: (_args, ctx) => threeRounds(ctx),
    }),
  ],
  resources: [defineResource({ uri: 'note://three', name: 'three', read: threeRounds })],
  resourceTemplates: [
    defineResourceTemplate({
      uriTemplate: 'note://of/{who}',
      name: 'of',
      read: (_who, ctx) => threeRounds(ctx),
    }),
  ],
}
