// second tier: third party
// shares a process
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { stdio } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { watch } from '../_raw.js'

const test = suite('tasks with the official SDK 1 (2025-11-25)', { timeout: 30_000 })
const program = fileURLToPath(new URL('./_sdk1-tasks.js', import.meta.url))
const server = () => stdio({ command: process.execPath, args: [program] })
const onElicit = () => ({ action: 'accept', content: { name: 'Ada' } }) as const

test('tools that the server runs as tasks', async (t) => {
  const { client } = watch(t, { transport: server(), onElicit })
  assert.is((await client.callTool('slow')).text, 'slow')
  assert.is((await client.callTool('slow', { asks: true })).text, 'slow for Ada')
  const { task } = await client.tasks.start('slow')
  const taskId = task?.taskId ?? ''
  assert.is((await client.tasks.result(taskId)).text, 'slow')
  assert.is((await client.tasks.get(taskId)).status, 'completed')
  assert.is((await client.tasks.list()).tasks.length, 3)
})

test('questions that the server asks as tasks', async (t) => {
  const { client } = watch(t, { transport: server(), onElicit })
  assert.is((await client.callTool('asks')).text, 'taskCreated result Ada')
})

test.run()
