import { definePrompt, defineResourceTemplate, defineServer, field, promptResult } from 'caduceus'
import { connect } from 'caduceus/testing'

const summary = definePrompt({
  description: 'Summarizes a document.',
  arguments: {
    document: field.string({ description: 'The text' }),
    style: field.enum(['short', 'long']).optional(),
    maxLength: field.integer({ default: 500 }),
  },
  get: ({ document, style = 'short', maxLength }) =>
    promptResult().system(`Write a ${style} summary.`).user(`${maxLength} characters: ${document}`),
  complete: { style: (value) => ['short', 'long'].filter((style) => style.startsWith(value)) },
})

const note = defineResourceTemplate({
  uriTemplate: 'notes://{year}/{+path}',
  mimeType: 'text/plain',
  annotations: { audience: ['user'] },
  read: ({ year, path }) => `${path} of ${year}`,
})

const server = defineServer({
  name: 'notes',
  version: '1.0.0',
  prompts: { summary },
  resourceTemplates: { note },
})
await using pair = await connect(server)
const { messages } = await pair.client.getPrompt('summary', { document: 'Hello', maxLength: '20' })
for (const { content } of messages) console.log(content.type === 'text' && content.text)
const refused = await pair.client
  .getPrompt('summary', { style: 'odd' })
  .catch((error: Error) => error.message)
console.log(refused)
const { contents } = await pair.client.readResource('notes://2024/may/first')
console.log(JSON.stringify(contents[0]))
