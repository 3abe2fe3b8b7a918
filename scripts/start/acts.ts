import { CaduceusError, McpError, type Client, inspect, type TreeNode } from '../../index.js'
import { changesOf } from './changes.js'
import type { Stage } from './stage.js'
import { type Observed, watch } from './watch.js'

/** One thing that is broken on stage. */
export interface Act {
  readonly title: string
  /** Breaks it, and tells what the callers in the middle of it got. */
  run(stage: Stage): Promise<string[]>
}

/** What came of an act. */
export interface Outcome extends Observed {
  readonly title: string
  readonly callers: readonly string[]
  /** Milliseconds from the break until everybody answered again. */
  readonly readyMs: number
  /** The count of each session afterwards. */
  readonly counters: readonly number[]
  /** Restarts left, for each supervisor that has used one. */
  readonly restartsLeft: Readonly<Record<string, number>>
  /** What is another process now. */
  readonly changed: readonly string[]
}

/** Everything the demonstration promises to survive. */
export const acts: readonly Act[] = [
  {
    title: 'a server of others is killed (SIGKILL) in the middle of a call that is safe to make again',
    async run({ everything }) {
      const begun = signal()
      const call = everything.callTool(
        'trigger-long-running-operation',
        { duration: 1, steps: 10 },
        { timeout: 60_000, onProgress: begun.fire },
      )
      await Promise.race([begun.fired, call])
      process.kill(processOf(everything), 'SIGKILL')
      return [await told('everything', call)]
    },
  },
  {
    title: 'a client crashes',
    async run({ registry, files, folder }) {
      const call = files.callTool('list_directory', { path: folder })
      registry.whereis('client files')?.kill()
      return [await told('files', call)]
    },
  },
  {
    title: 'a tool has a bug: a rejection that nobody awaits',
    run: async ({ sessions: [first] }) => [await told('first session', first?.callTool('stray_rejection'))],
  },
  {
    title: 'a tool has a bug: it throws from a timer',
    run: async ({ sessions: [, second] }) => [await told('second session', second?.callTool('stray_throw'))],
  },
  {
    title: 'a tool that spins, in a thread of its own, is killed at its deadline; the others go on meanwhile',
    async run({ sessions: [first, second] }) {
      const spinning = told('first session', first?.callTool('spin'))
      return [await pinged('second session', second, spinning), await spinning]
    },
  },
  {
    title: 'the session of one user crashes',
    async run({ registry, server }) {
      const [session] = await server.sessions()
      registry.whereis(`counters/session ${session?.id}`)?.kill()
      return []
    },
  },
  {
    title: 'what listens on the port crashes, and all sessions with it',
    async run({ registry }) {
      registry.whereis('counters/transport')?.kill()
      return []
    },
  },
  {
    title: 'what knows the tools of the server crashes, and all sessions with it',
    async run({ registry }) {
      registry.whereis('counters/base')?.kill()
      return []
    },
  },
]

/** Plays one act and waits until everybody answers again. */
export async function play(act: Act, stage: Stage): Promise<Outcome> {
  const before = inspect(stage.tree.ref)
  const watching = watch([stage.everything, stage.files, ...stage.sessions])
  const start = performance.now()
  const callers = await act.run(stage)
  const counters = await askEverybody(stage)
  const readyMs = Math.round(performance.now() - start)
  const tree = inspect(stage.tree.ref)
  return {
    title: act.title,
    ...watching.stop(),
    callers,
    readyMs,
    counters,
    restartsLeft: used(tree),
    changed: changesOf(before, tree),
  }
}

/** One real call to each client; the count of each session. */
export async function askEverybody({ everything, files, folder, sessions }: Stage): Promise<number[]> {
  const [, , ...counts] = await Promise.all([
    everything.callTool('echo', { message: 'still there?' }),
    files.callTool('read_text_file', { path: `${folder}/hello.txt` }),
    ...sessions.map((session) => again(() => session.callTool('count'))),
  ])
  return counts.map(({ text }) => Number(text))
}

/**
 * Makes a call again, a few times, while the library says that it can help; a counter that counted twice
 * would show.
 */
async function again<T>(call: () => Promise<T>, times = 5): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (times === 1 || !(error instanceof CaduceusError && error.retryable)) throw error
    return again(call, times - 1)
  }
}

async function told(
  who: string,
  call: Promise<{ readonly text: string; readonly isError?: boolean }> | undefined,
): Promise<string> {
  try {
    const answer = await call
    const what = answer?.isError === true ? 'told that its call has failed' : 'an answer'
    return `${who}: ${what}, ${JSON.stringify(answer?.text.slice(0, 60))}`
  } catch (error) {
    if (error instanceof McpError) return `${who}: ${error.code} ${error.message}`
    if (!(error instanceof CaduceusError)) throw error
    const { sent } = error.data as { sent?: boolean }
    return `${who}: ${error.code}, sent ${sent}, retryable ${error.retryable}: ${error.message.split('\n')[0]}`
  }
}

/** Pings for as long as a call takes; how many were answered, and the slowest of them. */
async function pinged(who: string, client: Client | undefined, call: Promise<unknown>): Promise<string> {
  let isOver = false
  void call.finally(() => {
    isOver = true
  })
  let [pings, slowest] = [0, 0]
  while (!isOver) {
    const start = performance.now()
    await client?.ping()
    slowest = Math.max(slowest, performance.now() - start)
    pings += 1
  }
  return `${who}: ${pings} pings were answered meanwhile, the slowest after ${slowest.toFixed(1)} ms`
}

/** The process id of a server that a client runs as its child. */
function processOf(client: Client): number {
  const about = client.inspect().tree?.children.find(({ id }) => id === 'transport')?.about
  const pid = Number(about?.match(/pid (\d+)/)?.[1])
  if (!Number.isInteger(pid)) throw new Error(`${client.name}: expected a process id, got ${about}`)
  return pid
}

function used(node: TreeNode): Record<string, number> {
  const own =
    node.restartsLeft !== undefined && node.restartsLeft < 3 ? { [node.name]: node.restartsLeft } : {}
  return Object.assign(own, ...node.children.map(used))
}

function signal(): { fire: () => void; fired: Promise<void> } {
  let fire: () => void = () => {}
  const fired = new Promise<void>((resolve) => {
    fire = resolve
  })
  return { fire, fired }
}
