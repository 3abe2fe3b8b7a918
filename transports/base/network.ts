/** Whether both ends of a connection are on this machine. */
export function isThisMachine(address: string): boolean {
  return address === '127.0.0.1' || address === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/i.test(address)
}

/** The addresses that count as one client: one of IPv4, a /64 of IPv6. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const mapped = /^::ffff:(\d[\d.]*)$/i.exec(address)
  if (mapped?.[1] !== undefined) return mapped[1]
  const [start = '', end] = address.toLowerCase().split('::', 2)
  const [before, after] = [start.split(':'), end === undefined ? [] : end.split(':')]
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0')
  const all = end === undefined ? before : [...before, ...zeros, ...after]
  return all
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, '') || '0')
    .join(':')
}

/** The addresses that anybody may have at once: one of IPv4, a /48 of IPv6. It may be given a network. */
export function siteOf(address: string): string {
  const network = networkOf(address)
  return network.includes(':') ? network.split(':').slice(0, 3).join(':') : network
}

/** How much of a limit one client may have at once: three quarters, one at least. The rest is for others. */
export function shareOf(limit: number): number {
  return Math.max(1, Math.floor((limit * 3) / 4))
}

/** Who calls without a session or a name, on this machine: everybody, where one proxy stands in between. */
export const anybody = 'session '

/** Whether a caller is of this machine, and nobody knows it: one of many, maybe, behind one proxy. */
export function isNear(caller: string): boolean {
  return caller.startsWith(anybody)
}
