/** Answers like `dns.lookup` with `all: true`. */
export type LookupAll = (
  hostname: string,
  options: { readonly all: true },
  callback: (
    error: NodeJS.ErrnoException | null,
    addresses: readonly { address: string; family: number }[],
  ) => void,
) => void

/** The option `lookup` of `net.connect`. */
export type SocketLookup = (
  hostname: string,
  options: { readonly all?: boolean },
  callback: (error: NodeJS.ErrnoException | null, address: unknown, family?: number) => void,
) => void

type Network = readonly [address: string, prefix: number]

/** Loopback, private, link-local (where clouds keep their metadata), shared, multicast, and the like. */
const privateNetworks: readonly Network[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
  // IPv4-compatible and translated ones stand for any address; no network has them
  ['::', 96],
  ['::ffff:0:0:0', 96],
  ['100::', 64],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  // tunnels, which stand for any IPv4 address
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 9],
  ['ff00::', 8],
]
const linkLocal: readonly Network[] = [
  ['169.254.0.0', 16],
  ['fe80::', 10],
  ['64:ff9b::a9fe:0', 112],
  ['2002:a9fe::', 32],
]

/**
 * Whether an IP address is not public, stands for such an IPv4 address, or is one of this machine. Undefined for
 * a name.
 */
export function isPrivateAddress(address: string): boolean | undefined {
  return isAmong(address, [...privateNetworks, ...ownAddresses()])
}

function ownAddresses(): readonly Network[] {
  const { networkInterfaces } = process.getBuiltinModule('node:os')
  return Object.values(networkInterfaces()).flatMap((all = []) =>
    all.map(({ address, family }): Network => [address.replace(/%.*$/, ''), family === 'IPv4' ? 32 : 128]),
  )
}

/** Whether an IP address is link-local, where clouds keep their credentials. False for a name. */
export function isLinkLocal(address: string): boolean {
  return isAmong(address, linkLocal) ?? false
}

/** An IPv4 network stands for its IPv4-mapped IPv6 addresses (::ffff:127.0.0.1), too. */
function isAmong(address: string, networks: readonly Network[]): boolean | undefined {
  const { BlockList, isIP } = process.getBuiltinModule('node:net')
  const bare = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  const family = isIP(bare)
  if (family === 0) return undefined
  const list = new BlockList()
  for (const [net, prefix] of networks) list.addSubnet(net, prefix, net.includes(':') ? 'ipv6' : 'ipv4')
  return list.check(bare, family === 4 ? 'ipv4' : 'ipv6')
}

/** Whether a host is of this machine or network: by its address, or by all the addresses of its name. */
export async function isPrivateHost(hostname: string, lookup: LookupAll = systemLookup): Promise<boolean> {
  const literal = isPrivateAddress(hostname)
  if (literal !== undefined) return literal
  if (/(?:^|\.)localhost$/i.test(hostname)) return true
  return new Promise((resolve) => {
    lookup(hostname, { all: true }, (error, addresses) => {
      resolve(
        error === null && addresses.length > 0 && addresses.every(({ address }) => isPrivateAddress(address)),
      )
    })
  })
}

/** A lookup for sockets that finds public addresses only: checked when dialled, against rebinding. */
export function publicLookup(lookup: LookupAll = systemLookup): SocketLookup {
  return guardedLookup(
    lookup,
    (address) => isPrivateAddress(address) !== false,
    'an address of this machine or network',
  )
}

/** A lookup for sockets that finds all but link-local addresses. */
export function routedLookup(lookup: LookupAll = systemLookup): SocketLookup {
  return guardedLookup(lookup, isLinkLocal, 'a link-local address')
}

function guardedLookup(
  lookup: LookupAll,
  isForbidden: (address: string) => boolean,
  what: string,
): SocketLookup {
  return (hostname, options, callback) => {
    lookup(hostname, { all: true }, (error, addresses) => {
      if (error !== null) return callback(error, undefined)
      if (addresses.some(({ address }) => isForbidden(address))) {
        const refusal = new Error(`${hostname} is ${what}`)
        return callback(Object.assign(refusal, { code: 'ERR_PRIVATE_ADDRESS' }), undefined)
      }
      if (options.all === true) return callback(null, addresses)
      const [first] = addresses
      callback(null, first?.address, first?.family)
    })
  }
}

function systemLookup(...args: Parameters<LookupAll>): void {
  const [hostname, options, callback] = args
  process.getBuiltinModule('node:dns').lookup(hostname, options, callback)
}
