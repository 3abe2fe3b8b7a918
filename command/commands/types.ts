import { withTarget } from '../connection/connect.js'
import { type Invocation, textOf } from '../base/invocation.js'
import { writeWhole } from '../base/write-file.js'
import { printAs } from '../terminal/output.js'
import { declarationOf, typeName } from './type-text.js'
import { exitCodes } from '../base/usage-error.js'

/** Writes the types of a server's tools, for `startClient<Name>(...)`. */
export async function run(invocation: Invocation): Promise<number> {
  return await withTarget(invocation, async ({ client }) => {
    const name = client.server?.info.name ?? 'server'
    const tools = []
    for await (const tool of client.tools()) tools.push(tool)
    const head = `// The tools of a server, written by \`caduceus types\`: startClient<${typeName(name)}>({ ... })`
    const types = `${head}\n\n${declarationOf(name, tools)}`
    const file = textOf(invocation, 'output')
    if (file === undefined) printAs(invocation, { types }, () => types)
    else await writeWhole(file, types, { force: true }) // it is written anew whenever a server changes
    return exitCodes.ok
  })
}
