import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { calculateJwkThumbprint, EmbeddedJWK, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose'

export { freePort } from '../../support/free-port.js'

type Form = Readonly<Record<string, string>>

/**
 * An authorization server of a few lines, for the examples: it trades identities of workloads, the secret `s` of any
 * client, and with that secret tokens of others (RFC 8693), for tokens.
 */
export async function startLogin() {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const platform = await generateKeyPair('ES256')
  const server = createServer(async (request, response) => {
    const answer = await answerTo(request).catch(({ message }: Error) => message)
    const body = typeof answer === 'string' ? { error: 'invalid_grant', error_description: answer } : answer
    response.writeHead(body === answer ? 200 : 400, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  })
  const issuer = `http://127.0.0.1:${await portOf(server)}`

  async function answerTo(request: IncomingMessage): Promise<object> {
    if (request.url === '/jwks') return { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] }
    if (request.url !== '/token')
      return {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        dpop_signing_alg_values_supported: ['ES256'],
      }
    const form = await formOf(request)
    const key = await keyOf(request)
    const claims = {
      ...(await whoIs(form, request)),
      aud: String(form.resource),
      ...(key && { cnf: { jkt: key } }),
    }
    const token = new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' }).setIssuer(issuer)
    const text = await token.setIssuedAt().setExpirationTime('5 min').sign(privateKey)
    return { access_token: text, token_type: key === undefined ? 'Bearer' : 'DPoP', expires_in: 300 }
  }

  async function whoIs({ assertion, subject_token }: Form, { headers }: IncomingMessage): Promise<Form> {
    const [id = '', secret] = atob(headers.authorization?.replace('Basic ', '') ?? '').split(':')
    if (secret === 's' && subject_token !== undefined) {
      const { payload } = await jwtVerify(subject_token, publicKey, { issuer })
      return { sub: String(payload.sub), client_id: id }
    }
    if (secret === 's') return { sub: id, client_id: id }
    const expected = { issuer: 'https://platform.example', audience: `${issuer}/token` }
    const { payload } = await jwtVerify(assertion ?? '', platform.publicKey, expected)
    return { sub: String(payload.sub), client_id: String(payload.sub) }
  }

  return {
    issuer,
    /** What a platform gives a program to say who it is. */
    identityOf: (subject: string, audience: string): Promise<string> =>
      new SignJWT({ iss: 'https://platform.example', sub: subject, aud: audience })
        .setProtectedHeader({ alg: 'ES256' })
        .setExpirationTime('5 min')
        .sign(platform.privateKey),
    [Symbol.asyncDispose]: () => close(server),
  }
}

/** The thumbprint of the key that a proof shows. */
async function keyOf({ headers: { dpop } }: IncomingMessage): Promise<string | undefined> {
  if (typeof dpop !== 'string') return undefined
  const { protectedHeader } = await jwtVerify(dpop, EmbeddedJWK, { typ: 'dpop+jwt', maxTokenAge: '5 min' })
  return calculateJwkThumbprint(protectedHeader.jwk ?? {})
}

async function portOf(server: ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function close(server: ReturnType<typeof createServer>): Promise<void> {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}

async function formOf(request: IncomingMessage): Promise<Form> {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  return Object.fromEntries(new URLSearchParams(body))
}
