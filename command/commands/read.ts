import { withTarget } from '../connection/connect.js'
import { type Invocation, textOf } from '../base/invocation.js'
import { checkWritable, writeWhole } from '../base/write-file.js'
import { contentText, printAs } from '../terminal/output.js'
import { exitCodes, UsageError } from '../base/usage-error.js'

/** Reads a resource. Binary content goes to a file or a pipe as it is; a terminal is told its size. */
export async function run(invocation: Invocation): Promise<number> {
  return await withTarget(invocation, async ({ client, others: [uri], signal }) => {
    if (uri === undefined) throw new UsageError('the uri of a resource is missing: caduceus list shows them')
    const file = textOf(invocation, 'output')
    const options = { force: invocation.values.force === true }
    if (file !== undefined) await checkWritable(file, options)
    const result = await client.readResource(uri, { signal })
    const bytes = Buffer.concat([Buffer.from(result.text), ...result.blobs])
    if (file !== undefined) await writeWhole(file, bytes, options)
    else if (invocation.values.json !== true && result.blobs.length > 0 && !process.stdout.isTTY)
      process.stdout.write(bytes)
    else printAs(invocation, result, () => contentText(result.contents))
    return exitCodes.ok
  })
}
