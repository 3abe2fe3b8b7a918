import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  type Server,
} from 'caduceus/server'

/** What clients of others are tried with: a bit of everything. `server` is asked for when a tool changes what the server offers. */
export function interopDefinition(server: () => Server) {
  const aborted = makeSignal()
  const seen = makeSignal()
  const late = defineTool({ name: 'late', description: 'Comes later.', run: () => 'came' })
  const tools = [
    defineTool({
      name: 'echo',
      description: 'Says what it is told.',
      input: {
        type: 'object',
        properties: { text: { type: 'string', 'x-mcp-header': 'Text' } },
        required: ['text'],
      },
      run: ({ text }) => String(text),
    }),
    defineTool({
      name: 'steps',
      description: 'Tells how far it is, and waits until that was seen.',
      // the official client forgets progress that comes in one piece with the result
      async run(_args, ctx) {
        for (const step of [1, 2]) ctx.progress(step, 2)
        await seen.promise
        return 'stepped'
      },
    }),
    defineTool({
      name: 'seen',
      description: 'Lets steps go on.',
      run() {
        seen.resolve()
        return 'seen'
      },
    }),
    defineTool({
      name: 'slow',
      description: 'Says that it runs, and never ends by itself.',
      run(_args, ctx) {
        ctx.signal.addEventListener('abort', aborted.resolve)
        ctx.progress(1)
        return new Promise(() => {})
      },
    }),
    defineTool({
      name: 'aborted',
      description: 'Ends when slow has been cancelled.',
      run: async () => {
        await aborted.promise
        return 'aborted'
      },
    }),
    defineTool({
      name: 'change',
      description: 'Adds a tool, or takes it away, and changes a resource.',
      async run() {
        if (!(await server().removeTool(late.name))) await server().addTool(late)
        await server().resourceUpdated('x:page')
        return 'changed'
      },
    }),
  ]
  return defineServer({
    name: 'interop',
    version: '1.2.3',
    instructions: 'Be kind.',
    tools,
    resources: [
      defineResource({ uri: 'x:page', name: 'page', mimeType: 'text/plain', read: () => 'a page' }),
    ],
    resourceTemplates: [
      defineResourceTemplate({
        uriTemplate: 'f:///{name}',
        name: 'file',
        read: ({ name }) => (name === 'gone' ? undefined : `file ${name}`),
      }),
    ],
    prompts: [
      definePrompt({
        name: 'greet',
        arguments: [{ name: 'who', required: true }],
        get: ({ who }) => `Greet ${who}.`,
        complete: { who: (typed) => [`${typed}a`] },
      }),
    ],
  })
}

function makeSignal() {
  let resolve = (): void => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve: () => resolve() }
}
