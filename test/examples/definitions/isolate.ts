import { defineServer, defineTool, field } from 'caduceus'
import { connect } from 'caduceus/testing'

const matches = defineTool({
  description: 'Whether a text matches a regular expression.',
  input: { pattern: field.string(), text: field.string() },
  output: field.boolean(),
  timeout: 2_000,
  isolate: 'thread', // 'process' for native code
  module: new URL('./matches.js', import.meta.url), // in place of `run`
})

await using pair = await connect(defineServer({ name: 'texts', version: '1.0.0', tools: { matches } }))
async function ask(pattern: string, text: string): Promise<void> {
  const { text: answer } = await pair.client.callTool('matches', { pattern, text })
  console.log(answer)
}
await ask('^a+$', 'aaa')
const endless = ask('^(a+)+$', `${'a'.repeat(50)}!`) // takes years
await ask('^a+$', 'bbb')
await endless
