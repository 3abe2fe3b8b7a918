import { type Authenticate, TransportError } from 'caduceus/transports'

/** Takes `Bearer NAME` for the subject NAME, no header for somebody anonymous, and fails for some names. */
export const byName: Authenticate = async ({ headers }) => {
  const [, subject] = /^Bearer (\S+)$/.exec(String(headers.authorization ?? '')) ?? []
  if (subject === undefined) return 'anonymous'
  if (subject === 'unknown') return undefined
  if (subject === 'thrower') throw new Error('canary of the validator')
  if (subject === 'refused')
    throw new TransportError('UNAUTHORIZED', 'no', { data: { challenge: 'Bearer realm="x"' } })
  if (subject === 'wrong') return 'wrong' as never
  if (subject === 'never') return new Promise(() => {})
  const expired = subject === 'expired' && { expiresAt: 1 }
  const [name = '', issuer = 'https://issuer.example'] = subject.split('@')
  return { issuer, subject: name, clientId: 'app', scopes: ['read'], ...expired }
}

/** What a client sends that is this one. */
export function as(name: string): Record<string, string> {
  return { authorization: `Bearer ${name}` }
}
