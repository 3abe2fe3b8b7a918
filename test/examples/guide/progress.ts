import { defineServer, defineTool, field } from 'caduceus'
import { connect } from 'caduceus/testing'

const copy = defineTool({
  name: 'copy',
  input: { files: field.list(field.string()) },
  async run({ files }, ctx) {
    for (const [index, file] of files.entries()) {
      ctx.signal.throwIfAborted() // the caller cancelled, or its time is up
      ctx.progress(index + 1, files.length, file)
      await Promise.resolve() // here a file would be copied
    }
    return `${files.length} files`
  },
})

await using pair = await connect(defineServer({ name: 'files', version: '1.0.0', tools: [copy] }))
const { text } = await pair.client.callTool(
  'copy',
  { files: ['a.txt', 'b.txt', 'c.txt'] },
  {
    onProgress: ({ progress, total, message }) => console.log(`${progress} of ${total}: ${message}`),
    timeout: 5_000,
    resetOnProgress: true, // 5 s from the last progress on
  },
)
console.log(text)
