import type { Client } from 'caduceus'
import { didYouMean } from '../../runtime/base/near.js'
import { withTarget } from '../connection/connect.js'
import { type Invocation, textOf } from '../base/invocation.js'
import { checkWritable } from '../base/write-file.js'
import { contentText, printAs, progressBar } from '../terminal/output.js'
import { jsonText, tell } from '../terminal/screen.js'
import { contentOf } from './given-content.js'
import { readToolArguments } from './tool-arguments.js'
import { writeContent } from './write-content.js'
import { exitCodes, UsageError } from '../base/usage-error.js'

/** Calls a tool, and prints what it returns. A failed tool is exit code 1. */
export async function run(invocation: Invocation): Promise<number> {
  const file = textOf(invocation, 'output')
  if (file !== undefined) await checkWritable(file, { force: invocation.values.force === true })
  return await withTarget(invocation, ({ client, others: [tool, ...words], signal }) => {
    if (tool === undefined) throw new UsageError('the name of a tool is missing: caduceus list shows them')
    return callTool(client, tool, words, { invocation, signal })
  })
}

/** Calls a tool of a client with arguments as they were typed. */
export async function callTool(
  client: Client,
  name: string,
  words: readonly string[],
  { invocation, signal }: { readonly invocation: Invocation; readonly signal: AbortSignal },
): Promise<number> {
  const tool = await findTool(client, name)
  const read = (path: string, written: string) => contentOf(path, signal, written)
  const args = await readToolArguments(words, name, tool.inputSchema, { read })
  const bar = progressBar()
  const result = await client
    .callTool(name, args, { signal, resetOnProgress: true, onProgress: bar.show })
    .finally(bar.end)
  const isFailed = result.isError === true
  const text = () =>
    result.content.length === 0 && result.structuredContent !== undefined
      ? jsonText(result.structuredContent, 2)
      : contentText(result.content)
  const file = textOf(invocation, 'output')
  if (!isFailed && file !== undefined) await writeContent(invocation, file, result.content, text)
  else if (isFailed && invocation.values.json !== true) tell(`caduceus: ${name} failed: ${text()}`)
  else printAs(invocation, result, text)
  return isFailed ? exitCodes.failed : exitCodes.ok
}

async function findTool(client: Client, name: string) {
  const names: string[] = []
  for await (const tool of client.tools()) {
    if (tool.name === name) return tool
    names.push(tool.name)
  }
  const known = names.length > 20 ? `${names.slice(0, 20).join(', ')} and others` : names.join(', ')
  throw new UsageError(
    `${name} is no tool of ${client.name}${didYouMean(name, names)}: it has ${known || 'none'}`,
  )
}
