import { defineServer, defineTool, field, type ServerDefinition, ToolError } from '../../../index.js'
import type { Recorder } from '../history/history.js'
import type { Program } from '../world/program.js'

/** What handlers answer, as text: who asks reads it again. */
export interface Answer {
  readonly value?: string
  readonly list?: string
  readonly elements?: readonly string[]
}

export interface DefinitionParts {
  readonly name: string
  readonly program: Program
  readonly recorder: Recorder
  /** Tells all who want to know of a change of this resource. */
  readonly changed: (uri: string) => Promise<void>
}

/** The server of the simulation: every handler is told of in the history, and waits by its program's clock. */
export function simulatedServer({ name, program, recorder, changed }: DefinitionParts): ServerDefinition {
  let runs = 0
  const token = { token: field.string() }

  /** Runs the body of a handler as a run of the history. */
  async function noted(
    given: {
      readonly token: string
      readonly operation: 'append' | 'read' | 'echo' | 'elicit' | 'slow' | 'hang'
    },
    ctx: { readonly session: { readonly id: string | undefined }; readonly signal: AbortSignal },
    body: () => Answer | Promise<Answer>,
  ): Promise<string> {
    runs += 1
    const run = `${program.name} ${program.incarnation} ${runs}`
    const { id } = ctx.session
    recorder.add({ type: 'ran', program: name, run, ...given, ...(id !== undefined && { session: id }) })
    try {
      const answer = await body()
      const { value } = answer
      recorder.add({ type: 'ranTo', program: name, run, end: 'ok', ...(value !== undefined && { value }) })
      return JSON.stringify(answer)
    } catch (error) {
      recorder.add({ type: 'ranTo', program: name, run, end: ctx.signal.aborted ? 'aborted' : 'error' })
      throw error
    }
  }

  const append = defineTool({
    input: token,
    session: true,
    run: ({ token }, ctx) =>
      noted({ token, operation: 'append' }, ctx, async () => {
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
      noted({ token, operation: 'read' }, ctx, async () => {
        const elements = ((await ctx.get('list')) ?? []) as string[]
        return { list: ctx.session.id as string, elements }
      }),
  })
  const echo = defineTool({
    input: token,
    annotations: { readOnlyHint: true },
    run: ({ token }, ctx) => noted({ token, operation: 'echo' }, ctx, () => ({ value: token })),
  })
  const slow = defineTool({
    input: { ...token, steps: field.integer(), ms: field.integer() },
    run: ({ token, steps, ms }, ctx) =>
      noted({ token, operation: 'slow' }, ctx, async () => {
        for (let step = 1; step <= steps; step++) {
          await pause(program, ms, ctx.signal)
          const payload = `${token} ${step}`
          recorder.add({
            type: 'emitted',
            program: name,
            stream: token,
            sequence: step,
            kind: 'progress',
            payload,
            token,
          })
          ctx.progress(step, steps, payload)
        }
        return { value: token }
      }),
  })
  const hang = defineTool({
    input: token,
    run: ({ token }, ctx) =>
      noted({ token, operation: 'hang' }, ctx, async () => {
        await pause(program, Number.POSITIVE_INFINITY, ctx.signal)
        throw new ToolError('given up')
      }),
  })
  const elicit = defineTool({
    input: token,
    run: ({ token }, ctx) =>
      noted({ token, operation: 'elicit' }, ctx, async () => {
        const { action, content } = await ctx.elicit('word', {
          message: token,
          requestedSchema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
        })
        return { value: `${action} ${content?.word}` }
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
  return defineServer({
    name: 'simulated',
    version: '1.0.0',
    tools: { append, read, echo, slow, hang, elicit, touch },
    resources: [],
  })
}

/** Waits by the clock of the program; rejects when the signal aborts. */
export function pause({ world }: Program, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const give = (): void => {
      world.clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = world.setTimeout(() => {
      signal.removeEventListener('abort', give)
      resolve()
    }, ms)
    signal.addEventListener('abort', give, { once: true })
  })
}
