import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { isPassing } from '../../transports/http/client/errors.js'
import { type Asker, objectOf } from './ask.js'
import type { ServerMetadata } from './discovery.js'
import { authFailed, quotable } from './failure.js'
import type { KnownClient } from './library.js'
import type { OAuthSettings, RegisteredClient } from './options.js'
import type { World } from '../../runtime/time/world.js'
import { ClientError } from '../base/errors.js'

export interface Registration {
  readonly ask: Asker
  readonly metadata: ServerMetadata
  readonly settings: OAuthSettings
  readonly world: World
}

/** Registers the client if it has to (RFC 7591). */
export async function clientAt(registration: Registration, redirectUri: string): Promise<KnownClient> {
  const { metadata, settings } = registration
  const known = await knownClient(registration, redirectUri)
  if (known !== undefined) return known
  const value = await register(registration, redirectUri)
  await settings.storage.write(keyOf(metadata), { ...value, redirectUri })
  return clientOf(value, metadata)
}

/**
 * The client that a server knows: preregistered, described by a document, or registered before for this
 * redirect (specification: authorization, client registration). `given`: the one that tokens were given to.
 */
export async function knownClient(
  { metadata, settings, world }: Omit<Registration, 'ask'>,
  redirectUri?: string,
  given?: JsonObject,
): Promise<KnownClient | undefined> {
  const { client, clientMetadataUrl, storage } = settings
  if (client !== undefined) return presetClient(client, metadata)
  if (clientMetadataUrl !== undefined && metadata.client_id_metadata_document_supported === true)
    return { id: clientMetadataUrl, method: 'none' }
  const value = given ?? (await storage.read(keyOf(metadata)))
  // a storage of somebody else's may have `null` for what is not there
  if (!isObject(value) || (redirectUri !== undefined && value.redirectUri !== redirectUri)) return undefined
  const { client_secret_expires_at: end } = value
  if (typeof end === 'number' && end > 0 && end * 1_000 <= world.date()) return undefined
  return clientOf(value, metadata)
}

/** A preregistered client is used at its own issuer only. */
function presetClient(client: RegisteredClient, metadata: ServerMetadata): KnownClient {
  const { id, secret, privateKey: pem, algorithm = 'ES256', keyId, issuer } = client
  if (issuer !== undefined && issuer !== metadata.issuer)
    throw authFailed(
      `client ${id} belongs to ${issuer}, and the server wants tokens of ${quotable(metadata.issuer)}`,
    )
  if (pem !== undefined) return { id, key: { pem, algorithm, id: keyId }, method: 'private_key_jwt' }
  return { id, secret, method: secret === undefined ? 'none' : secretMethod(metadata) }
}

export async function registeredRedirect({ metadata, settings }: Registration): Promise<string | undefined> {
  const value = await settings.storage.read(keyOf(metadata))
  return typeof value?.redirectUri === 'string' ? value.redirectUri : undefined
}

/** Its issuer does not know it any more; another one, which was registered since, stays. */
export async function forgetClient(
  {
    metadata,
    settings: { storage },
  }: { readonly metadata: Pick<ServerMetadata, 'issuer'>; readonly settings: OAuthSettings },
  client: JsonObject | undefined,
): Promise<void> {
  const value = await storage.read(keyOf(metadata))
  if (client === undefined || client.client_id === value?.client_id)
    await storage.write(keyOf(metadata), undefined)
}

/** A client belongs to its issuer alone (2026-07-28, SEP-2352). */
function keyOf({ issuer }: Pick<ServerMetadata, 'issuer'>): string {
  return `client ${issuer}`
}

async function register({ ask, metadata, settings }: Registration, redirectUri: string): Promise<JsonObject> {
  const { registration_endpoint: endpoint, issuer } = metadata
  if (endpoint === undefined)
    throw authFailed(
      `${quotable(issuer)} registers no clients: register one there and give it with the option client`,
    )
  const body = {
    client_name: settings.clientName,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: wantedMethod(metadata),
    application_type: isLoopback(redirectUri) ? 'native' : 'web',
    ...(settings.scope !== undefined && { scope: settings.scope }),
    ...(settings.dpop && { dpop_bound_access_tokens: true }),
  }
  const answer = await ask.post(endpoint, 'application/json', JSON.stringify(body))
  if (answer.status !== 201 && answer.status !== 200) {
    const said = answer.status < 500 ? quotable(saidIn(answer.text)) : ''
    const why = `status ${answer.status}${said === '' ? '' : `: ${said}`}`
    throw new ClientError(
      'AUTHORIZATION_FAILED',
      `${quotable(issuer)} does not register this client (${why})`,
      {
        retryable: isPassing(answer.status),
        data: { status: answer.status, sent: false },
      },
    )
  }
  const value = objectOf(answer, endpoint)
  if (typeof value.client_id !== 'string' || value.client_id === '')
    throw authFailed(`${quotable(issuer)} registered a client without a client_id`)
  const { client_id, client_secret, client_secret_expires_at, token_endpoint_auth_method } = value
  return { client_id, client_secret, client_secret_expires_at, token_endpoint_auth_method }
}

function clientOf(value: JsonObject, metadata: ServerMetadata): KnownClient {
  const { client_id: id, client_secret: secret, token_endpoint_auth_method: method } = value
  const { redirectUri: _redirectUri, ...registered } = value
  if (typeof secret !== 'string' || secret === '' || method === 'none')
    return { id: String(id), method: 'none', registered }
  const given =
    method === 'client_secret_post' || method === 'client_secret_basic' ? method : secretMethod(metadata)
  return { id: String(id), secret, method: given, registered }
}

/** A program on a user's machine keeps no secret, so it asks for none where possible. */
function wantedMethod(metadata: ServerMetadata): KnownClient['method'] {
  const methods = metadata.token_endpoint_auth_methods_supported
  return !Array.isArray(methods) || methods.includes('none') ? 'none' : secretMethod(metadata)
}

function secretMethod(metadata: ServerMetadata): 'client_secret_basic' | 'client_secret_post' {
  const methods = metadata.token_endpoint_auth_methods_supported
  const post =
    Array.isArray(methods) &&
    !methods.includes('client_secret_basic') &&
    methods.includes('client_secret_post')
  return post ? 'client_secret_post' : 'client_secret_basic'
}

function isLoopback(redirectUri: string): boolean {
  const { protocol, hostname } = new URL(redirectUri)
  return !/^https?:$/.test(protocol) || /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(hostname)
}

function saidIn(text: string): unknown {
  try {
    const { error, error_description: why } = JSON.parse(text) as JsonObject
    return [error, why].filter((part) => typeof part === 'string').join(': ')
  } catch {
    return undefined
  }
}
