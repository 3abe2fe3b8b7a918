import { withTarget } from '../connection/connect.js'
import type { Invocation } from '../base/invocation.js'
import { contentText, printAs } from '../terminal/output.js'
import { splitPair } from './tool-arguments.js'
import { exitCodes, UsageError } from '../base/usage-error.js'

/** Prints the messages of a prompt. */
export async function run(invocation: Invocation): Promise<number> {
  return await withTarget(invocation, async ({ client, others: [name, ...words], signal }) => {
    if (name === undefined) throw new UsageError('the name of a prompt is missing: caduceus list shows them')
    const result = await client.getPrompt(name, Object.fromEntries(words.map(splitPair)), { signal })
    printAs(invocation, result, () =>
      result.messages.map(({ role, content }) => `${role}: ${contentText([content])}`).join('\n'),
    )
    return exitCodes.ok
  })
}
