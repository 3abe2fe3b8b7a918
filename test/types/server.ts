import type { StandardSchema } from 'caduceus/protocol'
import {
  type ArgumentsOf,
  defineServer,
  defineTool,
  files,
  type FromJsonSchema,
  json,
  sealed,
  serverSpec,
  startServer,
  text,
} from 'caduceus/server'
import { serveHttp, serveStdio } from 'caduceus/transports'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function holds<_Claim extends true>(): void {}

// A literal JSON Schema says what `run` is given.
defineTool({
  name: 'all',
  input: {
    type: 'object',
    properties: {
      by: { type: 'integer' },
      who: { type: 'string' },
      mode: { enum: ['fast', 'slow'] },
      tags: { type: 'array', items: { type: ['string', 'null'] } },
      at: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] },
      fixed: { const: 7 },
      free: {},
    },
    required: ['who', 'at'],
  },
  run(args) {
    holds<Same<typeof args.by, number | undefined>>()
    holds<Same<typeof args.who, string>>()
    holds<Same<typeof args.mode, 'fast' | 'slow' | undefined>>()
    holds<Same<typeof args.tags, (string | null)[] | undefined>>()
    holds<Same<typeof args.at, { x: number }>>()
    holds<Same<typeof args.fixed, 7 | undefined>>()
    holds<Same<typeof args.free, unknown>>()
    // @ts-expect-error not a property of the schema
    return String(args.other)
  },
})
holds<Same<FromJsonSchema<{ readonly type: 'array' }>, unknown[]>>()
holds<Same<ArgumentsOf<Record<string, unknown>>, Record<string, unknown>>>()
holds<Same<ArgumentsOf<{ type: string; properties: { a: { type: string } } }>, Record<string, unknown>>>()
holds<Same<keyof ArgumentsOf<undefined>, never>>()

// A tool without `input` takes nothing, and is given nothing.
defineTool({
  name: 'none',
  run(args) {
    // @ts-expect-error there are no arguments
    return String(args.foo)
  },
})
// @ts-expect-error there are no arguments
defineTool({ name: 'none', run: ({ foo }) => String(foo) })
defineTool({ name: 'none', run: (_args: Record<string, unknown>) => '' })

// A Standard Schema says what comes out of it, not what goes in.
declare const parsed: StandardSchema<{ n: string }, { n: number }>
defineTool({
  name: 'standard',
  input: parsed,
  run({ n }) {
    holds<Same<typeof n, number>>()
    return [text(String(n)), json({ n })]
  },
})

// The types of session state come from the change, or are given.
defineTool({
  name: 'state',
  async run(_args, ctx) {
    const sum = await ctx.update('sum', (n = 0) => n + 1)
    holds<Same<typeof sum, number>>()
    const list = await ctx.update('list', async (items: string[] = []) => [...items, 'x'])
    holds<Same<typeof list, string[]>>()
    const given = await ctx.update<number>('given', (n) => (n ?? 0) + 1)
    holds<Same<typeof given, number>>()
    const read = await ctx.get<number>('sum')
    holds<Same<typeof read, number | undefined>>()
    // @ts-expect-error a change is a function
    await ctx.update('sum', 1)
    // without a session there is no id
    holds<Same<typeof ctx.session.id, string | undefined>>()
    const once = await ctx.once('step', async () => 1)
    holds<Same<typeof once, number>>()
    // @ts-expect-error the session's facts are read only
    ctx.session.id = 'x'
    return { content: [], structuredContent: { sum } }
  },
})

// What a tool may return, and what not.
defineTool({ name: 'nothing', async run() {} })
defineTool({ name: 'nothing_either', run: () => undefined })
// @ts-expect-error a number is no result
defineTool({ name: 'number', run: () => 1 })
// @ts-expect-error content has to be blocks
defineTool({ name: 'content', run: () => ({ content: ['x'] }) })
// @ts-expect-error in an array every tool has a name
defineServer({ name: 's', version: '1', tools: [defineTool({ run: () => 'x' })] })
// @ts-expect-error no such field
defineTool({ name: 'field', run: () => 'x', handler: () => 'x' })
// @ts-expect-error tools come from defineTool
defineServer({ name: 's', version: '1', tools: [{ name: 'x' }] })

const definition = defineServer({ name: 's', version: '1' })
void startServer(definition, { transport: serveStdio() }).then((server) => {
  holds<Same<typeof server.url, string | undefined>>()
})
// @ts-expect-error a server needs a transport
void startServer(definition, {})
// @ts-expect-error no such option
serverSpec(definition, { transport: serveHttp(), maxSession: 1 })
// @ts-expect-error ports are numbers
serveHttp({ port: '3000' })

// Hooks see their session; a session that has ended keeps nothing any more.
defineServer({
  name: 's',
  version: '1',
  session: {
    async init(ctx, { restored }) {
      holds<Same<typeof restored, boolean>>()
      const total = await ctx.update('total', (n: number = 0) => n + 1)
      holds<Same<typeof total, number>>()
      // @ts-expect-error there is no request yet
      ctx.requestId
    },
    terminate(ended, reason) {
      holds<Same<typeof ended.session.id, string>>()
      if (reason.type === 'crash') reason.error
      // @ts-expect-error its state is gone
      ended.get('total')
    },
  },
})
serverSpec(definition, { transport: serveHttp(), start: () => process.env.SERVE === 'yes' })
serverSpec(definition, { transport: serveHttp(), engine: sealed({ keys: ['x'.repeat(32)] }) })
serverSpec(definition, { transport: serveHttp(), engine: files({ folder: '.' }) })
// @ts-expect-error keys are needed
sealed({})
// @ts-expect-error a predicate answers at once
serverSpec(definition, { transport: serveHttp(), start: async () => true })
