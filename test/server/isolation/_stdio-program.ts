import { defineServer, defineTool, field, serveStdio, startServer } from 'caduceus'

/** A server on standard input and output, with handlers that print. */
const input = { what: field.string(), text: field.string().optional() }
const module = new URL('./_heavy.js', import.meta.url)
const tools = [
  defineTool({ name: 'thread', input, isolate: 'thread', module }),
  defineTool({ name: 'process', input, isolate: 'process', module }),
]
await startServer(defineServer({ name: 'printing', version: '1', tools }), { transport: serveStdio() })
