type Write = typeof process.stdout.write
/** What others see as `write` while standard output is taken. */
type Redirected = Write & { readonly original?: Write }

/**
 * Only the protocol goes to standard output: `console.log` and the like go to standard error meanwhile. It may be
 * taken before code of a user is loaded, and again by the listener.
 */
export function takeStandardOutput(): { write(text: string | Buffer): boolean; restore(): void } {
  const { stdout, stderr } = process
  const before = stdout.write as Redirected
  const original = before.original ?? before
  const write = (...args: Parameters<Write>): boolean => stderr.write(...args)
  const redirected = Object.assign(write as Write, { original })
  stdout.write = redirected
  return {
    write: (text) => original.call(stdout, text),
    restore: () => {
      if (stdout.write === redirected) stdout.write = before
    },
  }
}
