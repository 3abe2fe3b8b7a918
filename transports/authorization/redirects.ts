/** The names of this machine that programs of a user listen on (RFC 8252). */
const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Whether an address is one of a program on the device of the user. */
export function isOnDevice({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && loopback.has(hostname)
}

/** Whether whoever listens there may be any program of the device (RFC 8252, section 8.6). */
export function isOfProgram(address: string): boolean {
  if (!URL.canParse(address)) return true
  const { protocol, hostname } = new URL(address)
  return protocol !== 'https:' || loopback.has(hostname)
}

/** Schemes that the programs of a system take: none of them is a client. */
const ofOthers =
  /^(?:about|afp|android-app|blob|callto|chrome.*|data|facetime.*|file|filesystem|ftps?|gopher|intent|itms.*|jar|javascript|ldaps?|mailto|ms-.*|nfs|res|search-ms|sftp|shell|smb|sms|ssh|tel|telnet|vbscript|view-source|vnc|wss?|x-apple.*):$/

/** Whether codes may not be sent there: plain http elsewhere, and a scheme that hides another address. */
export function isForbidden(address: string): boolean {
  if (!URL.canParse(address)) return true
  const url = new URL(address)
  if (url.protocol === 'http:') return !isOnDevice(url)
  if (url.protocol === 'https:') return false
  if (ofOthers.test(url.protocol)) return true
  const rest = address.slice(url.protocol.length)
  return /https?:/i.test(rest) || rest.indexOf('://', 3) !== -1
}
