/** The path of a request target, without its query; in origin or absolute form (RFC 9112, section 3.2). */
export function pathOf(target: string | undefined): string {
  if (target === undefined) return ''
  const from = target.startsWith('/') ? 0 : startOf(target)
  const end = target.indexOf('?', from)
  if (end !== -1) return target.slice(from, end)
  return from === 0 ? target : target.slice(from)
}

/** The query of a request target, without its `?`; empty where there is none. */
export function queryOf(target: string | undefined): string {
  const at = target?.indexOf('?') ?? -1
  return at === -1 ? '' : (target?.slice(at + 1) ?? '')
}

/**
 * The address of a path, which begins with a slash, at an origin: what `new URL(path, origin)` would read as
 * another host, or throw for, when it begins with two.
 */
export function urlAt(origin: string, path: string): URL {
  return new URL(origin + path)
}

/** Where the path begins in an absolute target; 0 for any other target. */
function startOf(target: string): number {
  const origin = /^https?:\/\/[^/?#]*(?=\/)/i.exec(target)
  return origin?.[0].length ?? 0
}
