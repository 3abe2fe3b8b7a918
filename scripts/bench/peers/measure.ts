/** What is measured, in the order it is reported. */
export const scenarios = ['session_c16', 'stdio_c64', 'cold'] as const
export type Scenario = (typeof scenarios)[number]

/** Who is measured; everybody is compared with the first. */
export const contenderNames = ['raw', 'caduceus', 'sdk_v1', 'sdk_v2'] as const
export type ContenderName = (typeof contenderNames)[number]

/** One way to serve the `echo` tool; packages are imported inside, so that each way pays for its own only. */
export interface Contender {
  /** Serves Streamable HTTP with sessions at `/mcp` of a free port on 127.0.0.1, and resolves with the port. */
  http(): Promise<number>
  /** Serves standard input and output. */
  stdio(): Promise<void>
}

/** How long requests are made: `ms`, then on until there are `least`, but no longer than `most` ms. */
export interface Stretch {
  readonly ms: number
  readonly least: number
  readonly most: number
}

const warmUp: Stretch = { ms: 1_500, least: 4_000, most: 5_000 }
const measured: Stretch = { ms: 1_200, least: 500, most: 5_000 }

/** Microseconds of CPU that a request costs the server, when every lane makes one after the other. */
export async function cpuPerRequest(
  lanes: readonly (() => Promise<void>)[],
  cpuMicros: () => Promise<number>,
): Promise<number> {
  await drive(lanes, warmUp)
  const before = await cpuMicros()
  const count = await drive(lanes, measured)
  return ((await cpuMicros()) - before) / count
}

async function drive(
  lanes: readonly (() => Promise<void>)[],
  { ms, least, most }: Stretch,
): Promise<number> {
  const start = performance.now()
  let count = 0
  const follow = async (request: () => Promise<void>): Promise<void> => {
    for (;;) {
      const passed = performance.now() - start
      if (passed >= most || (passed >= ms && count >= least)) return
      await request()
      count += 1
    }
  }
  await Promise.all(lanes.map(follow))
  return count
}

/** The middle value; between the two middle ones of an even number. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const upper = sorted[sorted.length >> 1] ?? Number.NaN
  const lower = sorted[(sorted.length - 1) >> 1] ?? Number.NaN
  return (lower + upper) / 2
}

/** Rejects when the promise takes longer than `ms`; the message says what was waited for. */
export function within<Value>(promise: Promise<Value>, ms: number, what: string): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
