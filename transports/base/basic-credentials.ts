/**
 * Credentials of a client as the header that is sent (RFC 6749, section 2.3.1). What need not be encoded is not:
 * some servers do not decode it.
 */
export function basicCredentials(id: string, secret: string): string {
  const pair = [id, secret].map((part) => new URLSearchParams([['', part]]).toString().slice(1))
  return `Basic ${Buffer.from(pair.join(':')).toString('base64')}`
}
