import { drive } from './drive.js'
import type { Load } from './load.js'
import { type Answer, checkEcho, checkInitialize, echoCall, initialize, initialized } from './messages.js'
import { type MeasuredProcess, startServerProcess } from './measured-process.js'

const inFlight = 64

/** One pipe with 64 requests in flight; a request is a call of `echo`. */
export async function openStdio(module: string, profiles?: string): Promise<Load> {
  const server = startServerProcess({ module, transport: 'stdio', profiles })
  try {
    await server.ready()
    const ask = openPipe(server)
    checkInitialize(await Promise.race([ask('open', initialize), server.diesEarly()]))
    server.input.write(`${initialized}\n`)
    let last = 0
    const call = async (): Promise<void> => {
      const id = ++last
      checkEcho(await ask(id, echoCall(id)), id)
    }
    const lanes = Array.from({ length: inFlight }, () => call)
    return { measured: server, drive: (stretch) => drive(lanes, stretch) }
  } catch (error) {
    await server.end()
    throw error
  }
}

/** Hands out a function that sends a request and resolves with its answer. */
function openPipe({ input, output }: MeasuredProcess): (id: unknown, text: string) => Promise<Answer> {
  const waiting = new Map<unknown, (answer: Answer) => void>()
  let rest = ''
  output.setEncoding('utf8')
  output.on('data', (chunk: string) => {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const answer = JSON.parse(line) as Answer
      if (answer.method !== undefined) continue
      waiting.get(answer.id)?.(answer)
      waiting.delete(answer.id)
    }
  })
  return (id, text) =>
    new Promise((resolve) => {
      waiting.set(id, resolve)
      input.write(`${text}\n`)
    })
}
