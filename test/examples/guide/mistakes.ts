import { AskError, CaduceusError, defineServer, defineTool, field, ServerError } from 'caduceus'
import { nameFrom } from 'caduceus/server'
import { connect } from 'caduceus/testing'

// a wrong definition fails where it is made, and says what to write instead
try {
  defineTool({ name: 'add', inputSchema: { type: 'object' }, run: () => '' } as never)
} catch (error) {
  if (error instanceof ServerError) console.log(error.code, '-', error.message)
}

// every error of the library has a code, what led to it, and whether trying again may help
const isOurs = (error: unknown): error is CaduceusError => error instanceof CaduceusError

const rename = defineTool({
  name: nameFrom('renameFile'),
  input: { to: field.string() },
  async run({ to }, ctx) {
    try {
      await ctx.elicit('sure', { message: `Rename to ${to}?`, form: { sure: field.boolean() } })
      return 'renamed'
    } catch (error) {
      if (error instanceof AskError && isOurs(error)) return `not asked: ${error.code}`
      throw error
    }
  },
})
await using pair = await connect(defineServer({ name: 'files', version: '1.0.0', tools: [rename] }))
console.log((await pair.client.callTool('rename_file', { to: 'b.txt' })).text)
