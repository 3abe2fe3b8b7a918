import { createHash } from 'node:crypto'

/** Hosts refuse longer names (64 characters is what models take). */
const longest = 64

/**
 * The name under which a tool or prompt of a server is listed: `files__read`. What no name may have becomes `_`; a
 * name that is too long, or is taken, ends with a digest of the whole. The same names have the same answer.
 */
export function listedName(
  server: string | undefined,
  separator: string,
  name: string,
  isTaken: (name: string) => boolean,
): string {
  const whole = server === undefined ? name : `${server}${separator}${name}`
  const clean = whole.replaceAll(/[^\w.-]/g, '_')
  if (clean.length <= longest && !isTaken(clean)) return clean
  const digest = createHash('sha256')
    .update(`${server ?? ''} ${name}`)
    .digest('hex')
  return `${clean.slice(0, longest - 9)}_${digest.slice(0, 8)}`
}

/** The uri that always means this server: `files+file:///a.txt`. */
export function qualifiedUri(server: string, uri: string): string {
  return `${server.replaceAll(/[^\w.-]/g, '-')}+${uri}`
}

/** Whether a name fits one of the patterns, in which `*` stands for anything. */
export function fits(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const [first = '', ...rest] = pattern.split('*')
    if (rest.length === 0) return name === pattern
    if (!name.startsWith(first)) return false
    const last = rest.pop() ?? ''
    const end = name.length - last.length
    // each part as early as it can be: what comes after has the most room
    let at = first.length
    for (const part of rest) {
      const found = name.indexOf(part, at)
      if (found === -1) return false
      at = found + part.length
    }
    return at <= end && name.endsWith(last)
  })
}
