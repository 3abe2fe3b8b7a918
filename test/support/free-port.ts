import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

const [first, count] = [15_000, 15_000]
let last = randomInt(count)

/**
 * A port of loopback that is free at the moment, below those that systems give to whoever asks for any: such a one
 * could be given to another process until it is taken, or while a program that is started again there is away.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    last = (last + 1) % count
    const port = first + last
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
