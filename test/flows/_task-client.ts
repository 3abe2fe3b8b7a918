import { startClient } from 'caduceus/client'
import { http } from 'caduceus/transports'

// begins a task, says its id, and waits for the end of it until it is killed
const [url = '', era = 'handshake'] = process.argv.slice(2)
const client = startClient({
  transport: http(url),
  era: era as 'modern',
  logger: false,
  onElicit: () => new Promise<never>(() => {}),
})
const { task } = await client.tasks.start('works', { id: 'a' })
process.stdout.write(`${task?.taskId}\n`)
await client.tasks.adopt(task?.taskId ?? '', { timeout: 600_000 })
