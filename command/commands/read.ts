import { writeFile } from 'node:fs/promises'
import { withTarget } from '../connection/connect.js'
import { type Invocation, textOf } from '../base/invocation.js'
import { contentText, printAs } from '../terminal/output.js'
import { exitCodes, UsageError } from '../base/usage-error.js'

/** Reads a resource. Binary content goes to a file or a pipe as it is; a terminal is told its size. */
export async function run(invocation: Invocation): Promise<number> {
  return await withTarget(invocation, async ({ client, others: [uri], signal }) => {
    if (uri === undefined) throw new UsageError('the uri of a resource is missing: caduceus list shows them')
    const result = await client.readResource(uri, { signal })
    const file = textOf(invocation, 'output')
    const bytes = Buffer.concat([Buffer.from(result.text), ...result.blobs])
    if (file !== undefined) await writeFile(file, bytes)
    else if (invocation.values.json !== true && result.blobs.length > 0 && !process.stdout.isTTY)
      process.stdout.write(bytes)
    else printAs(invocation, result, () => contentText(result.contents))
    return exitCodes.ok
  })
}
