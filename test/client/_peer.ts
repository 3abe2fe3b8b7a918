import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import type { Client } from 'caduceus/client'
import { type Heard, heard } from '../support/heard.js'
import { inRoot } from '../support/root.js'
import type { TestContext } from '../support/suite.js'

/** A server of others that listens, as a process of its own. */
export type Peer = {
  /** Where it listens; the same after every start. */
  readonly origin: string
  /** What it says on standard error, line by line, over all its starts. */
  readonly said: Heard<string>
  /** Ends it as nothing can prevent; resolves when it is gone. */
  kill(): Promise<void>
  /** Starts it again; resolves when it listens. */
  start(): Promise<void>
}

/** How a peer is run. `env` is added to ours; PORT is always there. */
export type PeerCommand = {
  readonly command?: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a server that takes its port from PORT, and says `listening on port N`; it is killed with the test. */
export async function startPeer(
  t: Pick<TestContext, 'after'>,
  { command, args, env }: PeerCommand,
): Promise<Peer> {
  const said = heard<string>()
  let port = 0
  let child: ChildProcess | undefined
  const start = async (): Promise<void> => {
    child = spawn(command ?? process.execPath, command === undefined ? [...preload, ...args] : args, {
      env: { ...process.env, ...env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    createInterface({ input: child.stderr as NonNullable<ChildProcess['stderr']> }).on('line', said.add)
    const exit = once(child, 'exit').then(([code]) => {
      throw new Error(`the server ended with ${code}: ${said.all.join('\n')}`)
    })
    exit.catch(() => {})
    const line = await Promise.race([said.next((text) => text.startsWith('listening on port')), exit])
    port = Number(/\d+/.exec(line)?.[0])
  }
  const kill = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }
  t.after(kill)
  await start()
  return { origin: `http://127.0.0.1:${port}`, said, kill, start }
}

const preload = ['--import', pathToFileURL(inRoot('test', 'support', 'loopback.mjs')).href]

/** The process of a client's server on standard input and output. */
export function serverPid(client: Client): number {
  return Number(/pid (\d+)/.exec(client.inspect().tree?.children[1]?.about ?? '')?.[1])
}
