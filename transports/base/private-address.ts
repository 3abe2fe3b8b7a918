import type { BlockList } from 'node:net'

/** Answers like `dns.lookup` with `all: true`. */
export type LookupAll = (
  hostname: string,
  options: { readonly all: true },
  callback: (
    error: NodeJS.ErrnoException | null,
    addresses: readonly { address: string; family: number }[],
  ) => void,
) => void

/** The same as `net.connect` wants it of its option `lookup`. */
export type SocketLookup = (
  hostname: string,
  options: { readonly all?: boolean },
  callback: (error: NodeJS.ErrnoException | null, address: unknown, family?: number) => void,
) => void

const networks: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
]
const networks6: readonly (readonly [string, number])[] = [
  ['::', 127],
  ['64:ff9b::', 96],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
]

/**
 * Whether an IP address is not of the public internet: loopback, private, link-local (where clouds keep their
 * metadata), shared, multicast, or one that stands for an IPv4 address. Undefined for a name.
 */
export function isPrivateAddress(address: string): boolean | undefined {
  const { isIP } = process.getBuiltinModule('node:net')
  const bare = bareAddress(address)
  const family = isIP(bare)
  if (family === 0) return undefined
  return privateNetworks().check(bare, family === 4 ? 'ipv4' : 'ipv6')
}

/**
 * Whether an IP address is link-local: on the same wire only, which is where clouds have the credentials of
 * their machines. Nobody is sent there, from whatever address. False for a name.
 */
export function isLinkLocal(address: string): boolean {
  const { BlockList, isIP } = process.getBuiltinModule('node:net')
  const bare = bareAddress(address)
  const family = isIP(bare)
  if (family === 0) return false
  const list = new BlockList()
  list.addSubnet('169.254.0.0', 16, 'ipv4')
  list.addSubnet('fe80::', 10, 'ipv6')
  list.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6')
  return list.check(bare, family === 4 ? 'ipv4' : 'ipv6')
}

function bareAddress(address: string): string {
  return address.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
}

/**
 * Whether a host is one of this machine or network: by its address, or by all the addresses that its name
 * has.
 */
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

/**
 * A lookup for sockets that finds public addresses only: checked when it is dialled, so that a name cannot
 * change its mind in between.
 */
export function publicLookup(lookup: LookupAll = systemLookup): SocketLookup {
  return guardedLookup(
    lookup,
    (address) => isPrivateAddress(address) !== false,
    'an address of this machine or network',
  )
}

/** The same for who may go into our own network, but for link-local addresses. */
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

function privateNetworks(): BlockList {
  const { BlockList } = process.getBuiltinModule('node:net')
  const list = new BlockList()
  // these hold for IPv6 addresses that stand for an IPv4 one (::ffff:127.0.0.1), too
  for (const [net, prefix] of networks) list.addSubnet(net, prefix, 'ipv4')
  for (const [net, prefix] of networks6) list.addSubnet(net, prefix, 'ipv6')
  return list
}
