// A worker that makes one call on the client `files` that is shared at a path, and tells what came of it.
import { parentPort, workerData } from 'node:worker_threads'
import { withClient } from 'caduceus/client'
import { shared } from 'caduceus/transports'

const { path } = workerData as { path: string }
const text = await withClient({ transport: shared('files', { path }), logger: false }, async (client) => {
  const result = await client.callTool('pid')
  return result.text
})
parentPort?.postMessage(text)
