/**
 * The path that a request asks for, without its query, of a target in origin form or in absolute form (RFC
 * 9112, 3.2: servers take both).
 */
export function pathOf(target: string | undefined): string {
  if (target === undefined) return ''
  const from = target.startsWith('/') ? 0 : startOf(target)
  const end = target.indexOf('?', from)
  if (end !== -1) return target.slice(from, end)
  return from === 0 ? target : target.slice(from)
}

/** Where the path begins in an absolute target; what is none is left as it is. */
function startOf(target: string): number {
  const origin = /^https?:\/\/[^/?#]*(?=\/)/i.exec(target)
  return origin?.[0].length ?? 0
}
