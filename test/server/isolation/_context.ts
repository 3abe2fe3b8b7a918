import { setTimeout as pause } from 'node:timers/promises'
import { AskError, type Elicitation, ServerError, type ToolContext } from 'caduceus/server'
import { threadId } from 'node:worker_threads'

/** Uses `ctx`, in tests that compare a handler in place with one elsewhere. Answers with what came of it. */
async function useContext({ deed }: { readonly deed: string }, ctx: ToolContext): Promise<string> {
  const run = Object.hasOwn(deeds, deed) ? deeds[deed] : undefined
  return JSON.stringify(await run?.(ctx))
}

export { useContext as default }

const question: Elicitation = {
  message: 'Who?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
}

const deeds: { readonly [deed: string]: (ctx: ToolContext) => unknown } = {
  facts({ session, request, requestId, transport, principal, user, assigns, peer, signal }) {
    const { client, revision, capabilities } = session
    const { _meta, ...params } = request.params
    const headers = transport.headers.get('x-tenant')
    return {
      ...{ client, revision, capabilities, params, headers, principal, user, assigns },
      has: [session.id !== undefined, _meta !== undefined, request.id === requestId, signal.aborted],
      ...{ method: request.method, name: transport.name, trusted: peer.trusted },
    }
  },
  progress: (ctx) => [
    ctx.progress(1, 2, 'one'),
    ctx.progress(1),
    ctx.progress(Number.NaN),
    ctx.progress(2),
    codeOf(() => ctx.progress('3' as never)),
  ],
  log: (ctx) => [
    ctx.log('info', { a: [1, undefined, new Date(0)] }),
    ctx.log('debug', 'not wanted'),
    ctx.log('error', undefined, 'me'),
    codeOf(() => ctx.log('loud' as never, 1)),
    codeOf(() => ctx.log('error', 1n)),
    ctx.elicitationComplete('some id'),
  ],
  ask: async (ctx) => [
    await ctx.elicit('who', question),
    await ctx.elicit('who', question),
    await codeOf(() => ctx.elicit('who', { ...question, message: 'Really?' })),
    await ctx.sample('what', { messages: [], maxTokens: 1 }),
    await ctx.roots('where'),
    await codeOf(() => ctx.ping()),
    await codeOf(() => ctx.elicit('', question)),
    await codeOf(() => ctx.elicit('page', { mode: 'url', message: 'a', url: 'https://a.example' })),
  ],
  together: async (ctx) =>
    Promise.all([ctx.elicit('a', question), ctx.elicit('b', question), ctx.roots('where')]),
  state: async (ctx) => [
    await codeOf(async () => ctx.update('count', (n: number | undefined) => (n ?? 0) + 1)),
    await codeOf(() => ctx.get('count')),
    await codeOf(() => ctx.update('count', () => () => 1)),
    await codeOf(() => ctx.get('')),
    await codeOf(() =>
      Promise.all([1, 2, 3].map((by) => ctx.update('sum', (n: number | undefined) => (n ?? 0) + by))),
    ),
    await codeOf(() => ctx.get('sum')),
  ],
  assign: (ctx) => [
    codeOf(() => ctx.assign({ a: 1 })),
    codeOf(() => ctx.assign(1 as never)),
    { ...ctx.assigns },
  ],
  assigned: (ctx) => ({ ...ctx.assigns }),
  changes: async (ctx) => [
    await codeOf(() => ctx.resourceUpdated('test://a')),
    await codeOf(() => ctx.resourceUpdated('no uri')),
    await codeOf(() => ctx.listChanged('tools')),
    await codeOf(() => ctx.listChanged('prompts')),
  ],
  steps: async (ctx) => [
    await ctx.once('a', () => {
      ctx.log('info', 'ran a')
      return { at: new Date(0) }
    }),
    await codeOf(() =>
      ctx.once('fails', () => {
        throw new TypeError('no')
      }),
    ),
    await codeOf(() => ctx.once('big', () => 1n)),
    await codeOf(() => ctx.once('', () => 1)),
    await ctx.once('nothing', () => {}),
    await ctx.elicit('who', question),
    await ctx.once('a', () => 'again'),
    await Promise.all([ctx.once('same', () => pause(5, 1)), ctx.once('same', () => pause(5, 2))]),
    await ctx.once('outer', async () => {
      const { content } = await ctx.elicit('inside', question)
      return ctx.once('inner', () => ({ content }))
    }),
  ],
  beside: async (ctx) =>
    Promise.all([
      ctx.once('slow', async () => {
        await pause(50)
        ctx.log('info', 'ran slow')
        return 1
      }),
      ctx.elicit('who', question),
    ]),
  defer(ctx) {
    const { answer, ...later } = { answer: ctx.defer<string>() }
    setTimeout(() => answer.resolve('later'), 5)
    return answer.answer.then((text) => [text, answer.open, later])
  },
  where: () => [process.pid, threadId],
  unawaited: (ctx) => codeOf(() => `${ctx.get('a')}`),
}

/** The value of what `fn` does, or the class and code of the error. */
function codeOf<Value>(fn: () => Value | Promise<Value>): unknown {
  try {
    const value = fn()
    return value instanceof Promise ? value.catch(kindOf) : value
  } catch (error) {
    return kindOf(error)
  }
}

function kindOf(error: unknown): unknown {
  const kind = error instanceof AskError ? 'AskError' : error instanceof ServerError ? 'ServerError' : 'other'
  const { code, message, data } = error as { code?: unknown; message: string; data?: unknown }
  return [kind, (error as Error).name, code, message, data]
}
