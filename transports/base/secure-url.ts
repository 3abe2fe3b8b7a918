import { badOption, type Read } from './read-option.js'

/** Reads an address that secrets may be sent to: https, or http on this machine; as it was written. */
export const readSecureUrl: Read<string> = (value, field) => {
  if (typeof value !== 'string' || !isSecureUrl(value)) {
    const shown = typeof value === 'string' ? value.replace(/\/\/[^/?#]*@/, '//…@') : value
    throw badOption(field, 'an https address without user, password and fragment', shown)
  }
  return value
}

/** Whether tokens, keys or secrets may be sent there. */
export function isSecureUrl(text: string): boolean {
  if (!URL.canParse(text) || text.includes('#')) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && loopback.test(hostname))
}

const loopback = /^(?:localhost|\[::1\]|127(?:\.\d{1,3}){3})$/
