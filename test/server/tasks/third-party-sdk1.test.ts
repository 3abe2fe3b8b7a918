// second tier: third party
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import * as assert from 'uvu/assert'
import { defineTool } from 'caduceus/server'
import { suite } from '../../support/suite.js'
import { startTestServer } from '../_servers.js'

const test = suite('tasks for clients of the official SDK 1 (2025-11-25)', { timeout: 30_000 })

const asks = defineTool({
  name: 'asks',
  task: 'required',
  async run(_args, ctx) {
    const { content } = await ctx.elicit('name', {
      message: 'Who?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    })
    return `for ${content?.name}`
  },
})
const endless = defineTool({
  name: 'endless',
  task: 'optional',
  run: (_args, ctx) =>
    new Promise<string>((resolve) => ctx.signal.addEventListener('abort', () => resolve('ended'))),
})

test('a tool that runs as a task asks its client, and can be looked at and cancelled', async (t) => {
  const { url = '' } = await startTestServer(t, [asks, endless], { tasks: { pollInterval: 50 } })
  const client = new Client({ name: 'sdk1', version: '1' }, { capabilities: { elicitation: {} } })
  t.after(() => client.close())
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ada' } }))
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as Transport)
  await client.listTools()
  const { tasks } = client.experimental

  let taskId = ''
  const told: string[] = []
  for await (const message of tasks.callToolStream({ name: 'asks', arguments: {} }, CallToolResultSchema)) {
    told.push(message.type)
    if (message.type === 'taskCreated') taskId = message.task.taskId
    if (message.type === 'error') throw message.error
    if (message.type === 'result') assert.equal(message.result.content, [{ type: 'text', text: 'for Ada' }])
  }
  assert.is(told[0], 'taskCreated')
  assert.is(told.at(-1), 'result')
  assert.is((await tasks.getTask(taskId)).status, 'completed')
  const kept = await tasks.getTaskResult(taskId, CallToolResultSchema)
  assert.equal(kept.content, [{ type: 'text', text: 'for Ada' }])

  const call = { name: 'endless', arguments: {} }
  for await (const message of tasks.callToolStream(call, CallToolResultSchema, { task: { ttl: 60_000 } })) {
    if (message.type === 'error') break
    if (message.type !== 'taskCreated') continue
    taskId = message.task.taskId
    assert.is((await tasks.cancelTask(taskId)).status, 'cancelled')
  }
  assert.is((await tasks.getTask(taskId)).status, 'cancelled')
})

test.run()
