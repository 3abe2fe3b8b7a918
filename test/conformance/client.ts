// The client that the official suite is run against, written against the public API alone. It is nobody's in particular: it lists all that a server
// has, reads each resource, gets each prompt and calls each tool. Exits with 1 when anything of that fails.
//   npm run --silent conformance:client -- URL
import { type Client, withClient } from 'caduceus/client'
import {
  type CreateMessageResult,
  type ElicitFormParams,
  type ElicitResult,
  McpError,
  type Tool,
} from 'caduceus/protocol'
import { http } from 'caduceus/transports'
import { argumentsFor, fieldsFor } from './client-arguments.js'
import { authFor } from './client-auth.js'

interface Call {
  readonly name: string
  readonly arguments: Record<string, unknown>
}

/** What a scenario tells its client besides the address. */
interface Context {
  readonly toolCalls?: readonly Call[]
  readonly [field: string]: unknown
}

/** A result that says that the tool failed. */
class ToolFailed extends Error {}

/** Servers of these scenarios list a tool that they do not have. */
const listsOnly = new Set(['json-schema-ref-no-deref'])

const { MCP_CONFORMANCE_SCENARIO: scenario = '', MCP_CONFORMANCE_CONTEXT: json = '{}' } = process.env
const context = JSON.parse(json) as Context

try {
  await useServer(process.argv[2] ?? '')
} catch (error) {
  console.error(error)
  process.exitCode = 1
}

async function useServer(url: string): Promise<void> {
  await using auth = await authFor(scenario, context, url)
  const transport = http(url, { auth })
  const roots = [{ uri: 'file:///srv/conformance', name: 'conformance' }]
  await withClient(
    { transport, era: 'auto', onElicit: accept, onSample: say, roots, timeout: 20_000 },
    async (client) => {
      if (client.supports('skills/list')) return readSkills(client)
      if (client.supports('resources/list')) await readResources(client)
      if (client.supports('prompts/list')) await getPrompts(client)
      await callTools(client)
    },
  )
}

/** Loads every skill, and then its other files; a skill that is not what its entry says ends the client. */
async function readSkills(client: Client): Promise<void> {
  for await (const skill of client.skills()) {
    if (skill.files === 'dynamic' || scenario.endsWith('no-prefetch')) continue
    await skill.load()
    for (const path of skill.files.keys()) await skill.read(path)
  }
}

async function readResources(client: Client): Promise<void> {
  for await (const { uri } of client.resources()) await attempt(uri, () => client.readResource(uri))
  for await (const _ of client.templates());
}

async function getPrompts(client: Client): Promise<void> {
  for await (const { name, arguments: fields = [] } of client.prompts()) {
    const args = Object.fromEntries(fields.map((field) => [field.name, 'text']))
    await attempt(name, () => client.getPrompt(name, args))
  }
}

/** Calls what the scenario wants called, or else every tool. */
async function callTools(client: Client): Promise<void> {
  const tools: Tool[] = []
  for await (const tool of client.tools()) tools.push(tool)
  if (listsOnly.has(scenario)) return
  const calls =
    context.toolCalls ?? tools.map((tool) => ({ name: tool.name, arguments: argumentsFor(tool, tools) }))
  for (const call of calls) await attempt(call.name, () => callTool(client, call))
}

async function callTool(client: Client, { name, arguments: args }: Call): Promise<void> {
  const { isError, text } = await client.callTool(name, args)
  if (isError === true) throw new ToolFailed(text)
}

/** What the server of a stranger makes of invented arguments is told, and no more; those of the suite have to take them. */
async function attempt(what: string, fn: () => Promise<unknown>): Promise<void> {
  try {
    await fn()
  } catch (cause) {
    const isAnswer = cause instanceof McpError || cause instanceof ToolFailed
    if (scenario !== '' || !isAnswer) throw new Error(`${what} failed`, { cause })
    console.error(`${what} failed: ${cause.message}`)
  }
}

/** Says yes, and leaves alone what is filled in already. */
function accept({ requestedSchema }: ElicitFormParams): ElicitResult {
  return { action: 'accept', content: fieldsFor(requestedSchema) }
}

function say(): CreateMessageResult {
  const content = { type: 'text', text: 'Something that a model would say.' } as const
  return { role: 'assistant', content, model: 'none', stopReason: 'endTurn' }
}
