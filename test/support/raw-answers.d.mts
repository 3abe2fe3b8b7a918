export interface RawOptions {
  readonly init: string
  readonly discover: string
}

export const usual: RawOptions

/** What a program does for the server. */
export interface RawProgram {
  write(text: string, done?: () => void): unknown
  say(line: string): void
  exit(code: number): void
  who(): string
}

export function createRawServer(options: RawOptions, program: RawProgram): (line: string) => void
