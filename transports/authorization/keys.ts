import { createECDH } from 'node:crypto'
import type { World } from '../../runtime/time/world.js'

/** A new key for ES256, as the text of a private JWK. */
export function newSigningKey({ randomBytes }: Pick<World, 'randomBytes'>): string {
  const pair = createECDH('prime256v1')
  pair.setPrivateKey(Buffer.from(randomBytes(32)))
  const point = pair.getPublicKey()
  // what a private key begins with may be zeros, which Node leaves out
  const secret = Buffer.concat([Buffer.alloc(32), pair.getPrivateKey()]).subarray(-32)
  const [x, y, d] = [point.subarray(1, 33), point.subarray(33), secret].map((part) =>
    part.toString('base64url'),
  )
  return JSON.stringify({ kty: 'EC', crv: 'P-256', x, y, d, use: 'sig', alg: 'ES256' })
}
