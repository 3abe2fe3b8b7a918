import { z } from 'zod'
import {
  type Client,
  createApp,
  defineServer,
  defineTool,
  field,
  http,
  type ServerDefinition,
  startClient,
  type ToolResult,
  withClient,
} from 'caduceus'
import { connect } from 'caduceus/testing'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function holds<_Claim extends true>(): void {}
const transport = http('http://127.0.0.1:1/mcp')

const divide = defineTool({
  name: 'divide',
  input: { a: field.number(), b: field.number({ default: 1 }), note: field.string().optional() },
  output: { quotient: field.number() },
  run: ({ a, b }) => ({ quotient: a / b }),
})
const readUrl = defineTool({
  input: z.object({ url: z.string(), deep: z.boolean().default(false) }),
  output: z.object({ length: z.number() }),
  run: ({ url }) => ({ length: url.length }),
})
const born = defineTool({
  input: { on: field.date(), all: field.list(field.date()) },
  output: { on: field.date() },
  run: ({ on }) => ({ on }),
})
const plain = defineTool({
  input: { type: 'object', properties: { x: { type: 'integer' } }, required: ['x'] },
  run: ({ x }) => String(x),
})
const nothing = defineTool({ run: () => 'ok' })
const definition = defineServer({
  name: 's',
  version: '1',
  tools: { divide, readURL: readUrl, bornOn: born, Plain2: plain, nothing },
})

// What the caller gives is what is sent: days are texts, and what has a default may be left out.
const client = startClient<typeof definition>({ transport })
type Tools = typeof client.tools
type Given<Name extends keyof Tools> = Parameters<Tools[Name]>[0]
holds<Same<Given<'divide'>, { a: number; b?: number; note?: string }>>()
holds<Same<Given<'read_url'>, { url: string; deep?: boolean | undefined }>>()
holds<Same<Given<'born_on'>, { on: string; all: string[] }>>()
holds<Same<Given<'plain2'>, { x: number }>>()

// The result is that of `callTool`, with the type of its structured content.
export async function results(): Promise<void> {
  const { structuredContent, text } = await client.tools.divide({ a: 1 }, { timeout: 5 })
  holds<Same<typeof structuredContent, { quotient: number } | undefined>>()
  holds<Same<typeof text, string>>()
  const day = await client.tools.born_on({ on: '2024-01-15', all: [] })
  holds<Same<typeof day.structuredContent, { on: string } | undefined>>()
  const size = await client.tools.read_url({ url: '' })
  holds<Same<typeof size.structuredContent, { length: number } | undefined>>()
  const ok = await client.tools.nothing()
  holds<Same<typeof ok, ToolResult>>()
}

// @ts-expect-error no tool of this server
export const unknownTool = client.tools.multiply
// @ts-expect-error a is a number
export const wrongType = () => client.tools.divide({ a: '1' })
// @ts-expect-error a is missing
export const missing = () => client.tools.divide({})
// @ts-expect-error an argument that the tool does not take
export const extra = () => client.tools.divide({ a: 1, c: 2 })
// @ts-expect-error it takes arguments
export const none = () => client.tools.plain2()

// The list of all tools is where it was.
export async function list(): Promise<void> {
  for await (const { name } of client.tools({ maxPages: 2 })) holds<Same<typeof name, string>>()
}

// A client that knows its server is a client, and so is its definition a definition.
export const anyClient: Client = client
export const anyDefinition: ServerDefinition = definition

// Without types every name is a tool that takes anything.
const untyped = startClient({ transport })
export const anything = () => untyped.tools.anything?.({ a: 1 })

// Tools in an array, of an app, and types that somebody has written.
const { defineTool: defineMine, defineServer: serveMine } = createApp<{ user: string }>()
const mine = defineMine({ name: 'mine', input: { who: field.string() }, run: ({ who }) => who })
const listed = serveMine({ name: 's', version: '1', tools: [divide, mine] })
export async function pairs(): Promise<void> {
  await using pair = await connect(listed)
  await pair.client.tools.mine({ who: 'me' })
  await pair.client.tools.divide({ a: 1 })
  // @ts-expect-error who is a text
  await pair.client.tools.mine({ who: 1 })
  // @ts-expect-error of another server
  pair.client.tools.nothing
  const { structuredContent } = await withClient({ transport }, (one: Client<typeof definition>) =>
    one.tools.divide({ a: 1 }),
  )
  holds<Same<typeof structuredContent, { quotient: number } | undefined>>()
}
interface Files {
  readonly tools: { readonly read_file: { readonly input: { path: string }; readonly output: undefined } }
}
const files = startClient<Files>({ transport })
export const read = () => files.tools.read_file({ path: '/a' })
// @ts-expect-error its argument is path
export const misread = () => files.tools.read_file({ file: '/a' })
