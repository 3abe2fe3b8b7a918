import type { TemplateVariables } from 'caduceus/protocol'
import {
  type AskError,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  type RequestEvent,
  type Server,
  subscribeServer,
} from 'caduceus/server'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function holds<_Claim extends true>(): void {}

// The variables of a template come from its literal.
holds<Same<TemplateVariables<'x:{a}/{+b}'>, { readonly a: string; readonly b: string }>>()
holds<Same<TemplateVariables<string>, Readonly<Record<string, string>>>>()
const file = defineResourceTemplate({
  uriTemplate: 'file:///{+path}',
  name: 'file',
  read({ path }, ctx) {
    holds<Same<typeof path, string>>()
    return `${path} ${ctx.session.id}`
  },
  complete: { path: (value, chosen) => [value, ...Object.keys(chosen)] },
})
defineResourceTemplate({
  uriTemplate: 'x:{a}',
  name: 'x',
  // @ts-expect-error not a variable of the template
  read: ({ b }) => b,
})
defineResourceTemplate({
  uriTemplate: 'x:{a}',
  name: 'x',
  read: () => 'x',
  // @ts-expect-error not a variable of the template
  complete: { b: () => [] },
})

// What a resource may read, and what not.
const bytes = defineResource({ uri: 'x:a', name: 'a', read: async () => new Uint8Array() })
defineResource({ uri: 'x:a', name: 'a', read: () => [{ text: 'a' }, { uri: 'x:b', blob: '' }] })
defineResource({ uri: 'x:a', name: 'a', read: () => undefined })
// @ts-expect-error a number is no contents
defineResource({ uri: 'x:a', name: 'a', read: () => 1 })
// @ts-expect-error a resource has a uri
defineResource({ name: 'a', read: () => '' })

// The arguments of a prompt come from its list: what is not required may be absent.
const prompt = definePrompt({
  name: 'p',
  arguments: [{ name: 'who', required: true }, { name: 'how' }],
  get({ who, how }) {
    holds<Same<typeof who, string>>()
    holds<Same<typeof how, string | undefined>>()
    return [{ role: 'user', content: { type: 'text', text: who } }]
  },
  complete: { how: async () => ({ values: ['a'], total: 7 }) },
})
definePrompt({
  name: 'p',
  arguments: [{ name: 'who' }],
  // @ts-expect-error not an argument of the prompt
  get: ({ what }) => what,
})
definePrompt({
  name: 'p',
  arguments: [{ name: 'who' }],
  get: () => '',
  // @ts-expect-error not an argument of the prompt
  complete: { what: () => [] },
})
// @ts-expect-error a role is user or assistant
definePrompt({ name: 'p', get: () => ({ role: 'system', content: { type: 'text', text: '' } }) })

defineServer({
  name: 's',
  version: '1',
  resources: [bytes],
  resourceTemplates: [file],
  prompts: [prompt],
  logging: true,
})
// @ts-expect-error a template is no resource
defineServer({ name: 's', version: '1', resources: [file] })

defineTool({
  name: 'ask',
  async run(_args, ctx) {
    const { action, content } = await ctx.elicit('who', {
      message: 'Who?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    })
    holds<Same<typeof action, 'accept' | 'decline' | 'cancel'>>()
    await ctx.elicit('page', { mode: 'url', message: 'Go', url: 'https://a.example' }, { timeout: 10 })
    const { model } = await ctx.sample('s', { messages: [], maxTokens: 10 })
    const roots = await ctx.roots('r')
    holds<Same<(typeof roots)[number]['uri'], string>>()
    holds<Same<ReturnType<typeof ctx.log>, boolean>>()
    ctx.log('info', { any: 1 }, 'logger')
    // @ts-expect-error no such level
    ctx.log('loud', 1)
    // @ts-expect-error a form has a schema
    await ctx.elicit('q', { message: 'Who?' })
    // @ts-expect-error a question has a key
    await ctx.roots()
    return `${model} ${Object.keys(content ?? {}).length}`
  },
})

export function handlesAndEvents(server: Server, error: AskError): void {
  void server.addResource(file)
  void server.addResource(bytes)
  void server.addPrompt(prompt)
  void server.removeResource('x:a')
  void server.resourceUpdated('x:a')
  // @ts-expect-error a prompt is no resource
  void server.addResource(prompt)
  if (error.code === 'MISSING_CAPABILITY') return
  const stop = subscribeServer('request', (event) => {
    holds<Same<typeof event, RequestEvent>>()
    holds<Same<typeof event.duration, number | undefined>>()
  })
  stop()
  // @ts-expect-error no such event
  subscribeServer('requests', () => {})
}
