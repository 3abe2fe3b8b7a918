import { withTarget } from '../connection/connect.js'
import type { Invocation } from '../base/invocation.js'
import { printAs } from '../terminal/output.js'
import { splitPair } from './tool-arguments.js'
import { exitCodes, UsageError } from '../base/usage-error.js'

/** Suggests values for the last argument; those before it are what is known already. */
export async function run(invocation: Invocation): Promise<number> {
  return await withTarget(invocation, async ({ client, others: [what, ...words], signal }) => {
    const pairs = words.map(splitPair)
    const last = pairs.pop()
    if (what === undefined || last === undefined)
      throw new UsageError('a prompt or a uri template, and name=start of the value, are missing')
    const isTemplate = what.includes('{') || what.includes('://')
    const ref = isTemplate
      ? ({ type: 'ref/resource', uri: what } as const)
      : ({ type: 'ref/prompt', name: what } as const)
    const context = pairs.length === 0 ? {} : { context: { arguments: Object.fromEntries(pairs) } }
    const argument = { name: last[0], value: last[1] }
    const { completion } = await client.complete({ ref, argument, ...context }, { signal })
    printAs(invocation, completion, () => completion.values.join('\n'))
    return exitCodes.ok
  })
}
