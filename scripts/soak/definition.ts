import { randomUUID } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { basename } from 'node:path'
import {
  defineResourceTemplate,
  defineServer,
  defineTool,
  field,
  type ServerDefinition,
  type ToolContext,
} from 'caduceus'
import type { Operation, Unstamped } from '../sim/history/history.js'

const token = { token: field.string() }
const readOnly = { readOnlyHint: true }
/** Elements that a list has at most: the next one begins another list of its session. */
const longestList = 40

/** What a session remembers. */
interface List {
  readonly number: number
  readonly elements: readonly string[]
}

/**
 * The server of the soak: what it does for a call is an event in the file `log`, a line each, before it is
 * answered. `changed` is told of resources that a client wants to be changed.
 */
export function soakServer(log: string, changed: (uri: string) => Promise<void>): ServerDefinition {
  const program = basename(log)
  // What the program before could not end is a line of its own.
  appendFileSync(log, '\n')
  const note = (event: Unstamped): void => appendFileSync(log, `${JSON.stringify(event)}\n`)
  const ran = (
    operation: Operation,
    token: string,
    { session: { id } }: Pick<ToolContext, 'session'>,
  ): void =>
    note({
      type: 'ran',
      program,
      run: randomUUID(),
      token,
      operation,
      ...(id !== undefined && { session: id }),
    })
  const echo = defineTool({
    input: token,
    annotations: readOnly,
    run(args, ctx) {
      ran('echo', args.token, ctx)
      return args.token
    },
  })
  const append = defineTool({
    input: token,
    async run(args, ctx) {
      ran('append', args.token, ctx)
      const list = await added(args.token, ctx)
      // Done, and not yet answered: a cut in between is what must not have it done again.
      await pause(300, ctx.signal)
      return told(args.token, list, ctx)
    },
  })
  const recall = defineTool({
    input: token,
    annotations: readOnly,
    async run(args, ctx) {
      const list = ctx.session.id === undefined ? undefined : await ctx.get<List>('list')
      return told(args.token, list ?? { number: 0, elements: [] }, ctx)
    },
  })
  const steps = defineTool({
    input: token,
    async run(args, ctx) {
      ran('slow', args.token, ctx)
      const stream = randomUUID()
      for (const step of [1, 2, 3]) {
        await pause(20, ctx.signal)
        const payload = `${stream} ${step}`
        if (!ctx.progress(step, 3, payload)) continue
        note({
          type: 'emitted',
          program,
          stream,
          sequence: step,
          kind: 'progress',
          payload,
          token: args.token,
        })
      }
      return args.token
    },
  })
  const slow = defineTool({
    input: { ...token, ms: field.integer() },
    async run(args, ctx) {
      ran('slow', args.token, ctx)
      await pause(args.ms, ctx.signal)
      return args.token
    },
  })
  const ask = defineTool({
    input: token,
    async run(args, ctx) {
      await ctx.once('noted', () => ran('elicit', args.token, ctx))
      const { action, content } = await ctx.elicit('word', {
        message: args.token,
        requestedSchema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
      })
      return `${action} ${content?.word}`
    },
  })
  const touch = defineTool({
    input: { uri: field.string() },
    annotations: readOnly,
    async run({ uri }) {
      await changed(uri)
      return uri
    },
  })
  const own = defineResourceTemplate({ uriTemplate: 'soak://own/{name}', read: ({ name }) => name })
  return defineServer({
    name: 'soak',
    version: '1.0.0',
    tools: { echo, append, recall, steps, slow, ask, touch },
    resourceTemplates: { own },
  })
}

/** Adds to the list of the session; without one there is none to add to. */
async function added(token: string, ctx: ToolContext): Promise<List> {
  if (ctx.session.id === undefined) return { number: 0, elements: [] }
  return ctx.update('list', ({ number, elements }: List = { number: 0, elements: [] }) =>
    elements.length < longestList
      ? { number, elements: [...elements, token] }
      : { number: number + 1, elements: [token] },
  )
}

/** The answer of a call that saw a list. */
function told(token: string, { number, elements }: List, ctx: ToolContext): string {
  const { id } = ctx.session
  return JSON.stringify(id === undefined ? { token } : { token, list: `${id}/${number}`, elements })
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end, { once: true })
  })
}
