import { defineServer, defineTool } from '../../index.js'

const count = defineTool({
  name: 'count',
  description: 'Counts the calls of this session.',
  async run(_, ctx) {
    return String(await ctx.update('count', (calls = 0) => calls + 1))
  },
})

const strayRejection = defineTool({
  name: 'stray_rejection',
  description: 'Leaves a rejection behind that nobody awaits, and never answers.',
  run() {
    void Promise.reject(new Error('nobody awaits this'))
    return new Promise<never>(() => {})
  },
})

const strayThrow = defineTool({
  name: 'stray_throw',
  description: 'Throws from a timer, and never answers.',
  run() {
    setTimeout(() => {
      throw new Error('nobody catches this')
    }, 1)
    return new Promise<never>(() => {})
  },
})

const spin = defineTool({
  name: 'spin',
  description: 'Never gives way; it runs in a thread of its own.',
  timeout: 500,
  isolate: 'thread',
  module: new URL('./spin.js', import.meta.url),
})

/**
 * The server of the demonstration: a counter for each session, and tools with the bugs that end other
 * servers.
 */
export const counters = defineServer({
  name: 'counters',
  version: '1.0.0',
  tools: [count, strayRejection, strayThrow, spin],
})
