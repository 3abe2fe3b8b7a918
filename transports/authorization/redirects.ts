/** The names of this machine that programs of a user listen on (RFC 8252). */
const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** What leads to this machine for some reader: names, addresses (0.0.0.0/8, 127/8), what stands for those. */
const anyLoopback = [
  /^(?:.+\.)?localhost6?(?:\.localdomain6?)?\.*$/,
  /^ip6-(?:localhost|loopback)\.*$/,
  /^(?:0|127)(?:\.\d+){3}$/,
  // ::/96, and what is mapped or translated (RFC 6052, 7915)
  /^\[::(?:[\da-f]+(?::[\da-f]+)?)?\]$/,
  /^\[(?:::ffff:|::ffff:0:|64:ff9b::)(?:7f[\da-f]{2}|[\da-f]{1,2}):[\da-f]+\]$/,
]

/** Whether an address is one of a program on the device of the user. */
export function isOnDevice({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && loopback.has(hostname)
}

/** Whether whoever listens there may be any program of the device (RFC 8252, section 8.6). */
export function isOfProgram(address: string): boolean {
  if (!URL.canParse(address)) return true
  const { protocol, hostname } = new URL(address)
  return protocol !== 'https:' || anyLoopback.some((one) => one.test(hostname))
}

/** Schemes that the programs of a system take: none of them is a client. */
const ofOthers =
  /^(?:about|afp|android-app|applescript|blob|callto|cid|data|davs?|facetime.*|feed|file|filesystem|ftps?|gopher|hcp|help|intent|irc|its|itms.*|jar|javascript|jnlp|ldaps?|livescript|magnet|mailto|market|mhtml|mid|mk|mms|mocha|ms-.*|news|nfs|res|resource|rtsp|search|search-ms|sftp|shell|smb|sms|ssh|steam|tel|telnet|vbscript|view-source|vnc|webcal|wss?|wyciwyg|x-apple.*|x-webdoc):$/
/** Schemes of browsers, which open another address. */
const ofBrowsers =
  /^(?:.+https?|brave(?:-.*)?|chrome.*|duckduckgo|edge|firefox(?:-.*)?|focus|googlechrome.*|microsoft-edge.*|moz-.*|opera(?:-.*)?|safari(?:-.*)?|vivaldi(?:-.*)?|x-safari.*):$/

/**
 * Whether codes may not be sent there: plain http elsewhere, a scheme that hides another address, a name before
 * the host, which reads as the host, and our own pages, below each of `own`.
 */
export function isForbidden(address: string, own: readonly string[]): boolean {
  if (!URL.canParse(address)) return true
  const url = new URL(address)
  if (url.username !== '' || url.password !== '') return true
  if (own.some((page) => url.href.startsWith(page))) return true
  if (url.protocol === 'http:') return !isOnDevice(url)
  if (url.protocol === 'https:') return false
  if (ofOthers.test(url.protocol) || ofBrowsers.test(url.protocol)) return true
  let rest = url.href.slice(url.protocol.length)
  // written once more or less often, as programs read it
  for (let times = 0; times < 3; times += 1) {
    if (/https?:/i.test(rest) || rest.indexOf('://', 3) !== -1) return true
    rest = rest.replaceAll(/%[0-9a-f]{2}/gi, (code) =>
      String.fromCharCode(Number.parseInt(code.slice(1), 16)),
    )
  }
  return false
}
