import { InMemoryTaskMessageQueue, InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'

// A server of the official SDK 1.x with tasks (experimental there), over standard input and output.
const taskStore = new InMemoryTaskStore()
const server = new McpServer(
  { name: 'sdk1', version: '1' },
  {
    capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    taskStore,
    taskMessageQueue: new InMemoryTaskMessageQueue(),
  },
)
const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] })
const form = {
  message: 'Who?',
  requestedSchema: { type: 'object' as const, properties: { name: { type: 'string' as const } } },
}

server.experimental.tasks.registerToolTask(
  'slow',
  { inputSchema: { asks: z.boolean().optional() }, execution: { taskSupport: 'required' } },
  {
    async createTask({ asks }, extra) {
      const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 100 })
      const { taskId } = task
      const work = async (): Promise<string> => {
        if (asks !== true) return 'slow'
        const relatedTask = { taskId }
        const ask = { method: 'elicitation/create', params: form } as const
        await extra.taskStore.updateTaskStatus(taskId, 'input_required')
        const answer = await server.server.request(ask, ElicitResultSchema, { relatedTask })
        await extra.taskStore.updateTaskStatus(taskId, 'working')
        return `slow for ${String(answer.content?.name)}`
      }
      void work().then(
        (said) => extra.taskStore.storeTaskResult(taskId, 'completed', text(said)),
        (error: unknown) =>
          extra.taskStore.storeTaskResult(taskId, 'failed', { ...text(String(error)), isError: true }),
      )
      return { task }
    },
    async getTask(_args, extra) {
      return await extra.taskStore.getTask(extra.taskId)
    },
    async getTaskResult(_args, extra) {
      return (await extra.taskStore.getTaskResult(extra.taskId)) as ReturnType<typeof text>
    },
  },
)

// asks as a task of the client, and says how it went
server.registerTool('asks', {}, async () => {
  const told: string[] = []
  for await (const message of server.server.experimental.tasks.elicitInputStream(form, {
    task: { ttl: 60_000 },
  })) {
    told.push(message.type)
    if (message.type === 'error') return text(message.error.message)
    if (message.type === 'result') told.push(String(message.result.content?.name))
  }
  return text([...new Set(told)].filter((type) => type !== 'taskStatus').join(' '))
})

await server.connect(new StdioServerTransport())
process.stdin.on('end', () => process.exit())
