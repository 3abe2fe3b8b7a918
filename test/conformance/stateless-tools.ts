import { definePrompt, defineTool, type Server } from 'caduceus'

const logging = defineTool({
  name: 'test_logging_tool',
  description: 'Logs, which only those hear of who have asked for it.',
  run(_, ctx) {
    ctx.log('info', 'The tool runs.')
    return 'The tool has run.'
  },
})

const streaming = defineTool({
  name: 'test_streaming_elicitation',
  description: 'Answers by a stream, without asking for anything.',
  run(_, ctx) {
    ctx.progress(1, 1)
    return 'Nothing was asked.'
  },
})

const mirrored = defineTool({
  name: 'test_x_mcp_header',
  description: 'Takes an argument that is in a header, too.',
  input: {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    required: ['region'],
  },
  run: ({ region }) => `The region is ${region}.`,
})

/** Tools of a server that may be called without a session. */
export const statelessTools = [logging, streaming, mirrored]

/** Tools that change what the server offers; `server` is asked for when they run. */
export function changingTools(server: () => Server) {
  const extraTool = defineTool({ name: 'extra_tool', description: 'Comes and goes.', run: () => 'ran' })
  const extraPrompt = definePrompt({
    name: 'extra_prompt',
    description: 'Comes and goes.',
    get: () => 'Hello.',
  })
  return [
    defineTool({
      name: 'test_trigger_tool_change',
      description: 'Adds a tool, or takes it away.',
      async run() {
        const isRemoved = await server().removeTool(extraTool.name)
        if (!isRemoved) await server().addTool(extraTool)
        return 'The tools have changed.'
      },
    }),
    defineTool({
      name: 'test_trigger_prompt_change',
      description: 'Adds a prompt, or takes it away.',
      async run() {
        const isRemoved = await server().removePrompt(extraPrompt.name)
        if (!isRemoved) await server().addPrompt(extraPrompt)
        return 'The prompts have changed.'
      },
    }),
  ]
}
