/** The path of a request target, without its query; in origin or absolute form (RFC 9112, section 3.2). */
export function pathOf(target: string | undefined): string {
  if (target === undefined) return ''
  const from = target.startsWith('/') ? 0 : startOf(target)
  const end = target.indexOf('?', from)
  if (end !== -1) return target.slice(from, end)
  return from === 0 ? target : target.slice(from)
}

/** Where the path begins in an absolute target; 0 for any other target. */
function startOf(target: string): number {
  const origin = /^https?:\/\/[^/?#]*(?=\/)/i.exec(target)
  return origin?.[0].length ?? 0
}
