/** A command line as it was read. */
export interface Invocation {
  /** The command. */
  readonly word: string
  readonly positionals: readonly string[]
  readonly values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  /** What stands behind `--`: the command of a server, and its arguments. */
  readonly started: readonly string[] | undefined
}

/** Runs a command; resolves with the exit code. */
export type Run = (invocation: Invocation) => Promise<number>

/** The values of an option that may be given several times, such as `--header`. */
export function listOf({ values }: Invocation, name: string): readonly string[] {
  const value = values[name]
  return Array.isArray(value) ? value : []
}

/** The value of an option that is a text. */
export function textOf({ values }: Invocation, name: string): string | undefined {
  const value = values[name]
  return typeof value === 'string' ? value : undefined
}
