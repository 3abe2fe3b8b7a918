import { setTimeout as wait } from 'node:timers/promises'
import { defineTool, text, ToolError } from 'caduceus'
import { redPixel, silence } from './media.js'

const simpleText = defineTool({
  name: 'test_simple_text',
  description: 'Answers with text.',
  run: () => 'This is a simple text response for testing.',
})

const imageContent = defineTool({
  name: 'test_image_content',
  description: 'Answers with a picture.',
  run: () => ({ type: 'image', data: redPixel, mimeType: 'image/png' }),
})

const audioContent = defineTool({
  name: 'test_audio_content',
  description: 'Answers with a sound.',
  run: () => ({ type: 'audio', data: silence, mimeType: 'audio/wav' }),
})

const embeddedResource = defineTool({
  name: 'test_embedded_resource',
  description: 'Answers with a resource.',
  run: () => ({
    type: 'resource',
    resource: {
      uri: 'test://embedded-resource',
      mimeType: 'text/plain',
      text: 'This is an embedded resource content.',
    },
  }),
})

const mixedContent = defineTool({
  name: 'test_multiple_content_types',
  description: 'Answers with text, a picture and a resource.',
  run: () => [
    text('Multiple content types test:'),
    { type: 'image', data: redPixel, mimeType: 'image/png' },
    {
      type: 'resource',
      resource: {
        uri: 'test://mixed-content-resource',
        mimeType: 'application/json',
        text: JSON.stringify({ test: 'data', value: 123 }),
      },
    },
  ],
})

const errorHandling = defineTool({
  name: 'test_error_handling',
  description: 'Always fails.',
  run: () => {
    throw new ToolError('This tool intentionally returns an error for testing')
  },
})

const progress = defineTool({
  name: 'test_tool_with_progress',
  description: 'Tells how far it is: 0, 50 and 100 of 100.',
  async run(_, ctx) {
    for (const done of [0, 50, 100]) {
      ctx.progress(done, 100)
      await wait(50, undefined, { signal: ctx.signal })
    }
    return 'Progress is told.'
  },
})

const logging = defineTool({
  name: 'test_tool_with_logging',
  description: 'Logs three times while it works.',
  async run(_, ctx) {
    for (const message of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      ctx.log('info', message)
      await wait(50, undefined, { signal: ctx.signal })
    }
    return 'Three messages are logged.'
  },
})

const reconnection = defineTool({
  name: 'test_reconnection',
  description: 'Ends its stream early, and answers when the client has come back.',
  async run(_, ctx) {
    ctx.releaseStream()
    await wait(100, undefined, { signal: ctx.signal })
    return 'Answered after the stream was closed.'
  },
})

const jsonSchema = defineTool({
  name: 'json_schema_2020_12_tool',
  description: 'Takes arguments that only JSON Schema 2020-12 can describe.',
  input: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  },
  run: (args) => JSON.stringify(args),
})

/** Tools that need nothing of the client. */
export const tools = [
  simpleText,
  imageContent,
  audioContent,
  embeddedResource,
  mixedContent,
  errorHandling,
  progress,
  logging,
  reconnection,
  jsonSchema,
]
