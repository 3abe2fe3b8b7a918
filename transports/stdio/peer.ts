import type { Peer } from '../contract/contract.js'

/** The one client of standard input. */
export const stdioPeer: Peer = Object.freeze({
  transport: 'stdio',
  headers: Object.freeze({}),
  remoteAddress: undefined,
  trusted: true,
})
