// A program that uses the client `files` that another one shares: makes the calls that it is told to, and says how they came out.
//   node _peer.js <path>        on standard input: {"id":1,"tool":"echo","args":{"text":"x"},"timeout":1000} a line
import { createInterface } from 'node:readline'
import { startClient } from 'caduceus/client'
import { shared } from 'caduceus/transports'

interface Order {
  readonly id: number
  readonly tool: string
  readonly args?: Record<string, unknown>
}

const [path = ''] = process.argv.slice(2)
const say = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`)
const transport = shared('files', { path })
const files = startClient({ name: 'files', transport, logger: false, backoff: { base: 10, cap: 50 } })
files.onState(({ phase }) => say({ phase }))
const input = createInterface({ input: process.stdin })
input.on('line', (line) => void call(JSON.parse(line) as Order))
input.once('close', () => void files.close())

async function call({ id, tool, args }: Order): Promise<void> {
  const progress: number[] = []
  try {
    const onProgress = (news: { progress: number }): void => void progress.push(news.progress)
    const { text } = await files.callTool(tool, args, { onProgress })
    say({ id, text, progress })
  } catch (error) {
    const { code, data, retryable, message } = error as Error & Record<string, unknown>
    say({ id, code, sent: (data as { sent?: unknown } | undefined)?.sent, retryable, message })
  }
}
