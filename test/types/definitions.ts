import { z } from 'zod'
import {
  createApp,
  defineMethod,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  field,
  toolResult,
} from 'caduceus'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function holds<_Claim extends true>(): void {}

// Fields by their names say what `run` is given; what may be left out may be absent, a default is always there.
defineTool({
  name: 'fields',
  input: {
    a: field.integer(),
    b: z.string(),
    c: field.string().optional(),
    d: field.boolean({ default: true }),
  },
  run(args) {
    holds<Same<typeof args, { a: number; b: string; d: boolean; c?: string }>>()
    // @ts-expect-error not a field
    return String(args.e)
  },
})

// An output says what `run` returns.
defineTool({
  name: 'output',
  input: { a: field.integer() },
  output: { sum: field.integer(), unit: field.enum(['kg', 'lb']) },
  run: ({ a }) => ({ sum: a, unit: 'kg' }),
})
defineTool({ name: 'later', output: { ok: field.boolean() }, run: async () => ({ ok: true }) })
defineTool({
  name: 'whole',
  output: { ok: field.boolean() },
  run: () => toolResult().structured({ ok: true }),
})
defineTool({ name: 'list', output: z.array(z.number()), run: () => [1, 2] })
defineTool({
  name: 'schema',
  output: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
  run: () => ({ n: 1 }),
})
// @ts-expect-error the value lacks a field
defineTool({ name: 'wrong', output: { sum: field.integer() }, run: () => ({ total: 1 }) })
// @ts-expect-error the value has another type
defineTool({ name: 'wrong', output: { sum: field.integer() }, run: async () => ({ sum: '1' }) })

// The arguments of a prompt may be fields: their values are what texts stand for.
definePrompt({
  name: 'p',
  arguments: {
    style: field.enum(['formal', 'casual']),
    max: field.integer({ default: 500 }),
    at: z.string().optional(),
  },
  get(args) {
    holds<Same<typeof args, { style: 'formal' | 'casual'; max: number; at?: string | undefined }>>()
    // @ts-expect-error not an argument
    return String(args.other)
  },
  complete: { style: (value) => [value] },
})
definePrompt({
  name: 'p',
  arguments: { style: field.string() },
  get: () => '',
  // @ts-expect-error not an argument of the prompt
  complete: { other: () => [] },
})

// Without a name a definition can be listed by its key only.
const nameless = defineTool({ run: () => '' })
holds<Same<typeof nameless.name, undefined>>()
holds<Same<ReturnType<typeof named>['name'], 'x'>>()
function named() {
  return defineTool({ name: 'x', run: () => '' })
}
defineServer({ name: 's', version: '1', tools: { nameless, named: named() } })
// @ts-expect-error in an array every tool has a name
defineServer({ name: 's', version: '1', tools: [nameless] })
// @ts-expect-error a prompt is no tool
defineServer({ name: 's', version: '1', tools: { p: definePrompt({ get: () => '' }) } })

// Icons, hints and scopes are what the protocol has.
defineTool({
  name: 'x',
  icons: [{ src: 'https://a', theme: 'dark' }],
  scopes: ['a'],
  meta: { a: 1 },
  run: () => '',
})
// @ts-expect-error no such theme
defineTool({ name: 'x', icons: [{ src: 'https://a', theme: 'red' }], run: () => '' })
// @ts-expect-error scopes are a list
defineTool({ name: 'x', scopes: 'a', run: () => '' })

// Methods of an author's own, with and without a schema.
const sum = defineMethod({
  params: { list: field.list(field.number()) },
  run({ list }) {
    holds<Same<typeof list, number[]>>()
    return { sum: list.length }
  },
})
defineMethod({
  run(params) {
    holds<Same<typeof params, Readonly<Record<string, unknown>>>>()
    return undefined
  },
})
// @ts-expect-error a result is an object
defineMethod({ run: () => 'text' })
defineServer({
  name: 's',
  version: '1',
  methods: { 'acme/sum': sum },
  notifications: {
    'acme/moved'(params, ctx) {
      holds<Same<typeof params, Readonly<Record<string, unknown>>>>()
      // @ts-expect-error nobody waits for a notification
      ctx.progress(1)
    },
  },
  async handleRequest(request, ctx, next) {
    holds<Same<typeof request.method, string>>()
    ctx.progress(1)
    return { ...(await next()) }
  },
})

defineServer({
  name: 'forgetful',
  version: '1',
  // @ts-expect-error no return
  handleRequest: async (_request, _ctx, next) => {
    await next()
  },
})

// An app knows its author's types of user, session and assigns.
interface User {
  readonly id: string
}
const app = createApp<{
  user: User
  session: { count: number; names: string[] }
  assigns: { tenant: string }
  initArg: { url: string }
}>()
const counter = app.defineTool({
  name: 'counter',
  input: { by: field.integer({ default: 1 }) },
  async run({ by }, ctx) {
    holds<Same<typeof ctx.user, User | undefined>>()
    holds<Same<typeof ctx.assigns.tenant, string | undefined>>()
    const count = await ctx.update('count', (n = 0) => n + by)
    holds<Same<typeof count, number>>()
    holds<Same<Awaited<ReturnType<typeof ctx.get<'names'>>>, string[] | undefined>>()
    // @ts-expect-error not a key of the session
    await ctx.get('other')
    // @ts-expect-error not the type of that key
    await ctx.update('names', () => 7)
    // @ts-expect-error not an assign
    ctx.assigns.other
    ctx.progress(1)
    return `${by} ${ctx.user?.id}`
  },
})
app.defineTool({
  name: 'out',
  output: { ok: field.boolean() },
  run: async (_args, ctx) => ({ ok: ctx.user !== undefined }),
})
app.defineResourceTemplate({ uriTemplate: 'x:{a}', name: 'x', read: ({ a }, ctx) => `${a} ${ctx.user?.id}` })
app.definePrompt({ name: 'p', get: (_args, ctx) => ctx.user?.id ?? 'nobody' })
app.defineServer({
  name: 's',
  version: '1',
  tools: [counter],
  session: {
    async init(ctx, { initArg }) {
      holds<Same<typeof initArg, { url: string }>>()
      await ctx.update('names', () => [])
      // @ts-expect-error not a key of the session
      await ctx.get('other')
    },
  },
})
const plain = createApp<{ user: string }>()
plain.defineTool({
  name: 'plain',
  async run(_args, ctx) {
    holds<Same<typeof ctx.user, string | undefined>>()
    return String(await ctx.update('any', (n = 0) => n + 1))
  },
})

// A handler that runs elsewhere has a module in place of its function.
const module = new URL('file:///handler.js')
defineTool({ name: 'there', input: { a: field.string() }, output: field.string(), isolate: 'thread', module })
// @ts-expect-error: there is no such place
defineTool({ name: 'there', isolate: 'fibre', module })
// @ts-expect-error: it needs a module
defineTool({ name: 'there', isolate: 'thread' })
// @ts-expect-error: it has one or the other
defineTool({ name: 'there', isolate: 'thread', module, run: () => 'a' })
// @ts-expect-error: a module runs elsewhere
defineTool({ name: 'there', module, run: () => 'a' })
definePrompt({ name: 'there', isolate: 'process', module, complete: {} })
// @ts-expect-error: it has one or the other
definePrompt({ name: 'there', isolate: 'process', module, get: () => 'a' })
defineResource({ name: 'there', uri: 'test://a', isolate: 'process', module })
// @ts-expect-error: it needs a module
defineResource({ name: 'there', uri: 'test://a', isolate: 'process' })
defineResourceTemplate({ name: 'there', uriTemplate: 'test://{a}', isolate: 'process', module })
