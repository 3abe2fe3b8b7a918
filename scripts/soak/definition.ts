import { appendFileSync } from 'node:fs'
import {
  defineResourceTemplate,
  defineServer,
  defineTool,
  field,
  type ServerDefinition,
} from '../../index.js'

const token = { token: field.string() }
const readOnly = { readOnlyHint: true }

/**
 * The server of the soak: every call that has a token is a line of the file `log` before it is answered. `changed` is told of resources that a
 * client wants to be changed.
 */
export function soakServer(log: string, changed: (uri: string) => Promise<void>): ServerDefinition {
  const note = (line: string): void => appendFileSync(log, `${line}\n`)
  const echo = defineTool({
    input: token,
    annotations: readOnly,
    run: (args) => noted(args.token),
  })
  const append = defineTool({
    input: token,
    async run(args, ctx) {
      note(args.token)
      // Done, and not yet answered: a cut in between is what must not have it done again.
      await pause(300, ctx.signal)
      return args.token
    },
  })
  const steps = defineTool({
    input: token,
    async run(args, ctx) {
      note(args.token)
      for (const step of [1, 2, 3]) {
        await pause(20, ctx.signal)
        ctx.progress(step, 3)
      }
      return args.token
    },
  })
  const slow = defineTool({
    input: { ...token, ms: field.integer() },
    async run(args, ctx) {
      note(args.token)
      await pause(args.ms, ctx.signal)
      return args.token
    },
  })
  const ask = defineTool({
    input: token,
    async run(args, ctx) {
      await ctx.once('noted', () => note(args.token))
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
    tools: { echo, append, steps, slow, ask, touch },
    resourceTemplates: { own },
  })

  function noted(line: string): string {
    note(line)
    return line
  }
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
