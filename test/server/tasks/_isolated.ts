import type { ToolContext } from 'caduceus/server'

/** Does a step, and asks. */
async function isolated(_args: object, ctx: ToolContext) {
  const steps = await ctx.once('step', () => 1)
  const { content } = await ctx.elicit('name', {
    message: 'Your name?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
  })
  return `${content?.name}, ${steps} step`
}

export { isolated as default }
