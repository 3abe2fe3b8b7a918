import type { Client } from 'caduceus'
import { messageOf } from '../../runtime/base/errors.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import { compileCheck } from '../../protocol/schema/check.js'
import { admitSchema } from '../../protocol/schema/limits.js'
import { isObject } from '../../protocol/wire/json.js'
import { withTarget } from '../connection/connect.js'
import type { Invocation } from '../base/invocation.js'
import { type Inventory, takeInventory } from './list.js'
import { printAs } from '../terminal/output.js'
import { oneLine } from '../terminal/screen.js'
import { exitCodes } from '../base/usage-error.js'

/** What a check found. A `problem` breaks a host; a `note` costs some of them something. */
export interface Finding {
  readonly level: 'problem' | 'note'
  readonly text: string
}

/** Looks at a server as a host does: what it lists, its schemas, how fast it answers. */
export async function run(invocation: Invocation, world: World = systemWorld): Promise<number> {
  return await withTarget(invocation, async ({ client, signal }) => {
    const begin = world.now()
    const inventory = await takeInventory(client)
    const listMs = world.now() - begin
    const pingMs = await latency(client, signal, world)
    const findings = [...listFindings(inventory), ...judge(inventory), ...(await schemaFindings(inventory))]
    const { server, tools, resources, resourceTemplates, prompts } = inventory
    const counts = {
      tools: tools.length,
      resources: resources.length,
      templates: resourceTemplates.length,
      prompts: prompts.length,
    }
    const report = { server, counts, latency: { ping: pingMs, lists: round(listMs) }, findings }
    printAs(invocation, report, () =>
      [
        `${oneLine(server.name ?? 'server')} ${oneLine(server.version ?? '')} speaks ${server.revision}`,
        Object.entries(counts)
          .map(([what, count]) => `${count} ${what}`)
          .join(', '),
        `ping ${pingMs} ms, all lists ${round(listMs)} ms`,
        ...findings.map(({ level, text }) => `${level}: ${oneLine(text)}`),
        findings.length === 0 ? 'nothing to stumble over' : '',
      ].join('\n'),
    )
    return findings.some(({ level }) => level === 'problem') ? exitCodes.failed : exitCodes.ok
  })
}

/** The median of five pings, in ms. */
async function latency(client: Client, signal: AbortSignal, world: World): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < 5; round++) {
    const begin = world.now()
    await client.ping({ signal })
    times.push(world.now() - begin)
  }
  return round(times.sort((a, b) => a - b)[2] ?? 0)
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}

function listFindings({ failed }: { readonly failed: readonly string[] }): readonly Finding[] {
  return failed.map((text) => ({
    level: 'problem',
    text: `${text}, though the server says that it has this list`,
  }))
}

/** Compiles schemas, as a host does that checks arguments and results. */
async function schemaFindings({ tools }: Pick<Inventory, 'tools'>): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const { name, inputSchema, outputSchema } of tools)
    for (const [field, schema] of Object.entries({ inputSchema, outputSchema })) {
      if (!isObject(schema)) continue
      try {
        await compileCheck(admitSchema(schema))
      } catch (error) {
        findings.push({ level: 'problem', text: `tool ${name}: ${field}: ${messageOf(error)}` })
      }
      const { properties = {}, required } = schema
      for (const own of Array.isArray(required) && isObject(properties) ? required : [])
        if (!Object.hasOwn(properties as object, String(own)))
          findings.push({
            level: 'note',
            text: `tool ${name}: ${field} requires ${String(own)}, and does not say what it is`,
          })
    }
  return findings
}

/** Finds the mistakes that hosts have problems with. */
export function judge({ tools, resources, prompts }: Inventory): readonly Finding[] {
  const problem = (text: string): Finding => ({ level: 'problem', text })
  const note = (text: string): Finding => ({ level: 'note', text })
  const twice = (kind: string, names: readonly string[]) =>
    [...new Set(names.filter((name, at) => names.indexOf(name) !== at))].map((name) =>
      problem(`${kind} ${name} is listed twice: hosts keep one of them`),
    )
  const ofTools = tools.flatMap(({ name, description, inputSchema }) => [
    ...(/^[\w-]{1,64}$/.test(name)
      ? []
      : [problem(`tool ${name}: models take names of 64 letters, digits, _ and - at most`)]),
    ...(description === undefined || description.trim() === ''
      ? [note(`tool ${name} has no description: models have to guess what it does`)]
      : []),
    ...(inputSchema.type === 'object' ? [] : [problem(`tool ${name}: inputSchema.type is not object`)]),
    ...['anyOf', 'oneOf', 'allOf']
      .filter((word) => Object.hasOwn(inputSchema, word))
      .map((word) => note(`tool ${name}: ${word} at the top of inputSchema, which some models refuse`)),
    ...untyped(inputSchema.properties).map((field) =>
      note(`tool ${name}: the argument ${field} has no type: some models leave it out`),
    ),
  ])
  return [
    ...ofTools,
    ...twice(
      'tool',
      tools.map(({ name }) => name),
    ),
    ...twice(
      'resource',
      resources.map(({ uri }) => uri),
    ),
    ...twice(
      'prompt',
      prompts.map(({ name }) => name),
    ),
    ...resources
      .filter(({ uri }) => !URL.canParse(uri))
      .map(({ uri }) => problem(`resource ${uri} is no absolute uri`)),
    ...(tools.length > 40 ? [note(`${tools.length} tools: some hosts show models 40 of them`)] : []),
  ]
}

const typing = ['type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', '$ref']

function untyped(properties: unknown): string[] {
  if (!isObject(properties)) return []
  return Object.entries(properties).flatMap(([name, schema]) =>
    isObject(schema) && typing.some((word) => Object.hasOwn(schema, word)) ? [] : [name],
  )
}
