// mcp-proxy in front of a server on standard input and output, as a process of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

const startLimit = 20_000
const stopLimit = 10_000

/**
 * Starts `node ...program` behind the proxy, which speaks to it as `upstream` says (`legacy`, `auto`, `modern`). Resolves with `{ url, sseUrl, stop,
 * kill, restart }` once the proxy takes connections; rejects when it ends before, or does not within 20 s. After `kill`, `restart` starts it
 * again at the same address.
 */
export async function startProxy(bin, program, upstream) {
  const port = await freePort()
  const start = () => startOnce({ bin, program, upstream, port })
  let running = await start()
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    sseUrl: `http://127.0.0.1:${port}/sse`,
    stop: () => running.stop(),
    kill: () => running.kill(),
    async restart() {
      running = await start()
    },
  }
}

async function startOnce({ bin, program, upstream, port }) {
  const own = ['--host', '127.0.0.1', '--port', String(port), '--upstreamProtocol', upstream]
  const args = [bin, ...own, '--', process.execPath, ...program]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const killNow = () => child.kill('SIGKILL')
  process.once('exit', killNow)
  const said = []
  for (const output of [child.stdout, child.stderr]) output.on('data', (chunk) => said.push(chunk))
  const exited = once(child, 'exit')
  exited.then(() => process.off('exit', killNow))
  try {
    await reachable(port, child)
  } catch (error) {
    killNow()
    throw new Error(`mcp-proxy: ${error.message}: ${Buffer.concat(said)}`)
  }
  const stop = async () => {
    child.kill('SIGTERM')
    const timer = setTimeout(killNow, stopLimit)
    await exited
    clearTimeout(timer)
  }
  const kill = async () => {
    killNow()
    await exited
  }
  return { stop, kill }
}

/** Nobody has it now; the proxy has no way to say which one it took. */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

async function reachable(port, child) {
  const end = Date.now() + startLimit
  while (child.exitCode === null && Date.now() < end) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    if (isOpen) return
    await wait(50)
  }
  throw new Error(child.exitCode === null ? 'does not listen' : `ended with ${child.exitCode}`)
}
