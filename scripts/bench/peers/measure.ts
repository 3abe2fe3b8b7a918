/** What is measured, in the order it is reported. */
export const scenarios = [
  'session_c16',
  'modern_c16',
  'modern200_c16',
  'stdio_c64',
  'cold',
  'http_client_c16',
  'stdio_client_c16',
] as const
export type Scenario = (typeof scenarios)[number]

/** Who is measured; everybody is compared with the first. */
export const contenderNames = ['raw', 'caduceus', 'sdk_v1', 'sdk_v2'] as const
/** `before`: another checkout of this library, in bench:gate. */
export type ContenderName = (typeof contenderNames)[number] | 'before'

/** Whether the contender can take part: SDK 1.x does not speak 2026-07-28. */
export function takesPart(contender: ContenderName, scenario: Scenario): boolean {
  return contender !== 'sdk_v1' || !scenario.startsWith('modern')
}

/** Where a client finds its server. */
export type ServerOfClient =
  | { readonly url: string }
  | { readonly command: string; readonly args: readonly string[] }

/** One way to serve the `echo` tool, and to call it; packages are imported inside, so that each way pays for its own only. */
export interface Contender {
  /** Serves Streamable HTTP with sessions at `/mcp` of a free port on 127.0.0.1, and resolves with the port. */
  http(): Promise<number>
  /** The same in 2026-07-28, without sessions and with this many tools besides `echo`; absent where it is not spoken. */
  modern?(more: number): Promise<number>
  /** Serves standard input and output. */
  stdio(): Promise<void>
  /** Connects a client of 2025-11-25 with a session, and resolves with how it calls `echo`: text in, the text of the answer out. */
  client(server: ServerOfClient): Promise<(text: string) => Promise<unknown>>
}

/** Who takes part in one measurement; `module` is the URL of the contender's module. */
export interface Entrant {
  readonly name: ContenderName
  readonly module: string
}

/**
 * What each who took part needed, stretch by stretch or start by start; one who failed has none, and the reason
 * is on standard error.
 */
export type Figures = Partial<Record<ContenderName, readonly number[]>>

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
