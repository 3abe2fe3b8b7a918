import {
  definePrompt,
  defineResourceTemplate,
  defineServer,
  defineTool,
  field,
  type ServerDefinition,
  ToolError,
} from '../../../index.js'
import type { EndedSession, SessionContext } from '../../../server/index.js'
import type { Program } from '../world/program.js'
import { pause, Runs } from './runs.js'
import type { Stage } from './stage.js'

export interface DefinitionParts {
  readonly stage: Stage
  readonly name: string
  readonly program: Program
  /** Whether sessions have hooks. */
  readonly hooks: boolean
  /** Tells all who want to know of a change of this resource. */
  readonly changed: (uri: string) => Promise<void>
}

/** A definition, and what its handlers have open. */
export interface Simulated {
  readonly definition: ServerDefinition
  /** Sessions whose `init` hook has run, and whose `terminate` hook has not. */
  readonly begun: () => number
}

/** The server of the simulation: every handler is told of in the history, and waits by its program's clock. */
export function simulatedServer(parts: DefinitionParts): Simulated {
  const runs = new Runs(parts)
  const { hooks, begun } = sessionHooks(parts)
  const definition = defineServer({
    name: 'simulated',
    version: '1.0.0',
    logging: true,
    tools: { ...sessionTools(runs), ...plainTools(parts, runs), ...askingTools(runs) },
    resourceTemplates: [note(runs)],
    prompts: { word: word(runs) },
    ...(parts.hooks && { session: hooks }),
  })
  return { definition, begun: () => begun.size }
}

const token = { token: field.string() }

function sessionTools(runs: Runs) {
  const append = defineTool({
    input: token,
    session: true,
    run: ({ token }, ctx) =>
      runs.text({ token, operation: 'append' }, ctx, async () => {
        const elements = (await ctx.update('list', (list: unknown = []) => [
          ...(list as string[]),
          token,
        ])) as string[]
        return { list: ctx.session.id as string, elements }
      }),
  })
  const read = defineTool({
    input: token,
    session: true,
    annotations: { readOnlyHint: true },
    run: ({ token }, ctx) =>
      runs.text({ token, operation: 'read' }, ctx, async () => {
        const elements = ((await ctx.get('list')) ?? []) as string[]
        return { list: ctx.session.id as string, elements }
      }),
  })
  return { append, read }
}

function plainTools({ program, changed }: DefinitionParts, runs: Runs) {
  const echo = defineTool({
    input: token,
    annotations: { readOnlyHint: true },
    run: ({ token }, ctx) => runs.text({ token, operation: 'echo' }, ctx, () => ({ value: token })),
  })
  /** Nobody may make it twice. */
  const once = defineTool({
    input: token,
    run: ({ token }, ctx) => runs.text({ token, operation: 'echo' }, ctx, () => ({ value: token })),
  })
  const slow = defineTool({
    input: { ...token, steps: field.integer(), ms: field.integer() },
    run: ({ token, steps, ms }, ctx) =>
      runs.text({ token, operation: 'slow' }, ctx, async (tell) => {
        for (let step = 1; step <= steps; step++) {
          await pause(program, ms, ctx.signal)
          tell('progress')
          if (step % 2 === 0) tell('log')
        }
        return { value: token }
      }),
  })
  const hang = defineTool({
    input: token,
    run: ({ token }, ctx) =>
      runs.text({ token, operation: 'hang' }, ctx, async () => {
        await pause(program, Number.POSITIVE_INFINITY, ctx.signal)
        throw new ToolError('given up')
      }),
  })
  /** Its answer is so long that it waits for the client to read. */
  const big = defineTool({
    input: { ...token, size: field.integer() },
    annotations: { idempotentHint: true },
    run: ({ token, size }, ctx) =>
      runs.text({ token, operation: 'echo' }, ctx, () => ({ value: token, filling: 'x'.repeat(size) })),
  })
  /** Another one gives the answer. */
  const defer = defineTool({
    input: { ...token, ms: field.integer() },
    run: ({ token, ms }, ctx) =>
      runs.text({ token, operation: 'echo' }, ctx, () => {
        const later = ctx.defer<{ readonly value: string }>()
        const timer = program.world.setTimeout(() => later.resolve({ value: token }), ms)
        ctx.signal.addEventListener('abort', () => program.world.clearTimeout(timer))
        return later.answer
      }),
  })
  const touch = defineTool({
    input: { uri: field.string() },
    annotations: { readOnlyHint: true },
    async run({ uri }) {
      await changed(uri)
      return JSON.stringify({ value: uri })
    },
  })
  return { echo, once, slow, hang, big, defer, touch }
}

function askingTools(runs: Runs) {
  const requestedSchema = {
    type: 'object' as const,
    properties: { word: { type: 'string' as const } },
    required: ['word'],
  }
  const elicit = defineTool({
    input: token,
    run: ({ token }, ctx) =>
      runs.text({ token, operation: 'elicit' }, ctx, async () => {
        const { action, content } = await ctx.elicit('word', { message: token, requestedSchema })
        return { value: `${action} ${content?.word}` }
      }),
  })
  const sample = defineTool({
    input: token,
    run: ({ token }, ctx) =>
      runs.text({ token, operation: 'sample' }, ctx, async () => {
        const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: token } }]
        const { content } = await ctx.sample('model', { messages, maxTokens: 100 })
        const [first] = [content].flat()
        return { value: first?.type === 'text' ? first.text : 'no text' }
      }),
  })
  const roots = defineTool({
    input: token,
    run: ({ token }, ctx) =>
      runs.text({ token, operation: 'elicit' }, ctx, async () => {
        const known = await ctx.roots('roots')
        return { value: known.map(({ uri }) => uri).join() }
      }),
  })
  /** What is done once stays done, however often the handler runs. */
  const steps = defineTool({
    input: token,
    run: ({ token }, ctx) =>
      runs.text({ token, operation: 'elicit' }, ctx, async () => {
        const first = await ctx.once('step', () => token)
        const { action } = await ctx.elicit('one', { message: `${token} 1`, requestedSchema })
        const second = await ctx.once('other', () => `${first} ${action}`)
        const { content } = await ctx.elicit('two', { message: `${token} 2`, requestedSchema })
        return { value: `${second} ${content?.word}` }
      }),
  })
  return { elicit, sample, roots, steps }
}

/** A resource for every path. */
function note(runs: Runs) {
  return defineResourceTemplate({
    name: 'note',
    uriTemplate: 'sim://note/{token}',
    complete: {
      token: async (value, _chosen, ctx) => [
        await runs.text({ token: value, operation: 'echo' }, ctx, () => ({ value })),
      ],
    },
    read: ({ token }, ctx) => runs.text({ token, operation: 'echo' }, ctx, () => ({ value: token })),
  })
}

function word(runs: Runs) {
  return definePrompt({
    arguments: [{ name: 'token', required: true }],
    get: ({ token }, ctx) => runs.text({ token, operation: 'echo' }, ctx, () => ({ value: token })),
  })
}

/** Hooks that take down whether each session that has begun also ends. */
function sessionHooks({ stage, program }: DefinitionParts) {
  const begun = new Set<string>()
  const hooks = {
    async init(ctx: SessionContext) {
      const { id } = ctx.session
      await pause(program, 2, ctx.signal)
      if (begun.has(id)) stage.broken(`session ${id} begins twice in ${program.name}`)
      begun.add(id)
      ctx.assign({ begun: id })
    },
    async terminate({ session: { id }, assigns, signal }: EndedSession) {
      if (!begun.delete(id)) stage.broken(`session ${id} ends in ${program.name}, where it never began`)
      if (assigns.begun !== id) stage.broken(`session ${id} ends with what is assigned to ${assigns.begun}`)
      await pause(program, 2, signal)
    },
  }
  return { hooks, begun }
}
