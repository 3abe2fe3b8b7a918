import { type Client, McpError } from 'caduceus'
import { withTarget } from '../connection/connect.js'
import { cacheFolder } from '../hosts/folders.js'
import { findServers } from '../hosts/host-files.js'
import { keepTools, keyOf } from '../hosts/kept-lists.js'
import { type Invocation, textOf } from '../base/invocation.js'
import { firstLine, printAs } from '../terminal/output.js'
import { oneLine, tell } from '../terminal/screen.js'
import { surroundingsOf } from '../connection/target.js'
import { exitCodes } from '../base/usage-error.js'

/** Lists what a server has; without a target, the servers of the files of hosts. */
export async function run(invocation: Invocation): Promise<number> {
  if (invocation.started === undefined && invocation.positionals.length === 0) return listHosts(invocation)
  return await withTarget(invocation, async ({ client }) => {
    const { failed, ...inventory } = await takeInventory(client)
    const [target] = invocation.positionals
    const surroundings = surroundingsOf()
    if (invocation.started === undefined && target !== undefined)
      await keepTools(
        cacheFolder(surroundings),
        keyOf(target, textOf(invocation, 'config'), surroundings),
        inventory.tools,
      )
    printAs(invocation, inventory, () => inventoryText(inventory))
    for (const problem of failed) tell(`caduceus: ${problem}`)
    return failed.length === 0 ? exitCodes.ok : exitCodes.failed
  })
}

function listHosts(invocation: Invocation): number {
  const problems: string[] = []
  const servers = findServers(surroundingsOf(), textOf(invocation, 'config'), (text) => problems.push(text))
  for (const problem of problems) tell(`caduceus: ${problem}`)
  const rows = servers.flatMap(({ name, file, isDisabled }) => (isDisabled ? [] : [{ name, file }]))
  printAs(invocation, { servers: rows }, () =>
    rows.length === 0
      ? 'no file of a host has a server'
      : rows.map(({ name, file }) => `${name.padEnd(24)} ${file}`).join('\n'),
  )
  return exitCodes.ok
}

/** All that a server lists. */
export type Inventory = Omit<Awaited<ReturnType<typeof takeInventory>>, 'failed'>

/** Asks for all lists that the server says it has; `failed` names those that it does not give, and why. */
export async function takeInventory(client: Client) {
  const failed: string[] = []
  const all = async <T>(method: string, items: AsyncIterable<T>): Promise<T[]> => {
    const found: T[] = []
    try {
      if (client.supports(method)) for await (const item of items) found.push(item)
    } catch (error) {
      // the connection, or the time, is over for all of them
      if (!(error instanceof McpError)) throw error
      // some servers have resources, and know no templates
      if (method !== 'resources/templates/list') failed.push(`${method}: ${error.message}`)
    }
    return found
  }
  const [tools, resources, resourceTemplates, prompts] = await Promise.all([
    all('tools/list', client.tools()),
    all('resources/list', client.resources()),
    all('resources/templates/list', client.templates()),
    all('prompts/list', client.prompts()),
  ])
  const { info, revision, instructions } = client.server ?? {}
  return { server: { ...info, revision, instructions }, tools, resources, resourceTemplates, prompts, failed }
}

/** An inventory as people read it. */
export function inventoryText({ server, tools, resources, resourceTemplates, prompts }: Inventory): string {
  const sections = [
    section(
      'tools',
      tools.map(({ name, description, inputSchema }) => [signature(name, inputSchema), description]),
    ),
    section(
      'resources',
      resources.map(({ uri, name, description }) => [uri, description ?? name]),
    ),
    section(
      'templates',
      resourceTemplates.map(({ uriTemplate, name, description }) => [uriTemplate, description ?? name]),
    ),
    section(
      'prompts',
      prompts.map(({ name, description, arguments: taken = [] }) => [
        `${name}(${taken.map((one) => (one.required ? one.name : `${one.name}?`)).join(', ')})`,
        description,
      ]),
    ),
  ]
  const head = `${oneLine(server.name ?? 'server')} ${oneLine(server.version ?? '')} (${server.revision})`
  return [head, ...sections.filter((text) => text !== '')].join('\n\n')
}

function section(title: string, rows: readonly (readonly [string, string | undefined])[]): string {
  if (rows.length === 0) return ''
  return [
    title,
    ...rows.map(([name, about]) => `  ${oneLine(name)}\n      ${firstLine(about)}`.trimEnd()),
  ].join('\n')
}

function signature(name: string, schema: { properties?: object; required?: readonly string[] }): string {
  const names = Object.keys(schema.properties ?? {})
  return `${name}(${names.map((one) => (schema.required?.includes(one) ? one : `${one}?`)).join(', ')})`
}
