/** One line of a log. */
export type Line = {
  readonly level: string
  readonly facts: Record<string, unknown>
  readonly message: string
}

/** A logger that remembers. */
export function lines() {
  const all: Line[] = []
  const at = (level: string) => (facts: object, message: string) =>
    void all.push({ level, facts: facts as Record<string, unknown>, message })
  return { all, logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } }
}
