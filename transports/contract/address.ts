/**
 * Whether a text is an address of IPv4 or IPv6 (RFC 4291, section 2.2), as `isIP` of `node:net` says, which
 * not every platform has.
 */
export function isAddress(text: string): boolean {
  return isIPv4(text) || isIPv6(text)
}

function isIPv4(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)
}

function isIPv6(text: string): boolean {
  const [, address = text, zone] = /^([^%]*)%(.*)$/s.exec(text) ?? []
  if (zone !== undefined && !/^[0-9a-zA-Z\-.:]+$/.test(zone)) return false
  const halves = address.split('::')
  if (halves.length > 2) return false
  const sizes = halves.map((half, at) => groupsOf(half, at === halves.length - 1))
  const [before = 0, after = 0] = sizes
  if (sizes.includes(undefined)) return false
  // `::` stands for one group or more
  return halves.length === 1 ? before === 8 : before + after < 8
}

/** The groups of 16 bits; an IPv4 address at the end is two of them. Undefined where one is none. */
function groupsOf(half: string, isLast: boolean): number | undefined {
  if (half === '') return 0
  const parts = half.split(':')
  const last = parts.at(-1) ?? ''
  const isMixed = isLast && isIPv4(last)
  const plain = isMixed ? parts.slice(0, -1) : parts
  if (!plain.every((part) => /^[0-9a-fA-F]{1,4}$/.test(part))) return undefined
  return plain.length + (isMixed ? 2 : 0)
}
