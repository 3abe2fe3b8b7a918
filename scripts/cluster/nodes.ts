import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../test/support/free-port.js'
import { heard, HostProcess } from '../soak/host.js'

/** A node that is started again and again, always at the same port. */
export interface ClusterNode {
  readonly host: HostProcess
  /** Starts it again, as whatever looks after programs would: more than once, if it has to. */
  start(): Promise<void>
  readonly port: number
  readonly log: string
}

const program = fileURLToPath(new URL('./node.js', import.meta.url))
/** What the nodes of a run share. */
const key = 'what the nodes of one address share among themselves'

/** Starts of a node that may fail, one after the other: each waits 5 s for the engine. */
const mostTries = 3

/** Starts a node that finds its engine at `engine`. */
export async function startNode(log: string, engine: string): Promise<ClusterNode> {
  const port = await freePort()
  const host = new HostProcess(
    () =>
      spawn(process.execPath, [program, log, engine, String(port), key], {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      }),
    async (child) => void (await heard(child, 'up')),
  )
  const start = async (): Promise<void> => {
    for (let tries = 1; ; tries++) {
      try {
        return await host.start()
      } catch (error) {
        if (tries >= mostTries) throw error
      }
    }
  }
  await start()
  return { host, port, log, start }
}
