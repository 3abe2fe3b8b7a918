import { badOption, orElse, readOptions } from '../base/read-option.js'
import { readDPoP } from './dpop.js'
import { jwt } from './jwt.js'
import { authReaders, type AuthSettings, authSettings, metadataUrlOf } from './options.js'
import { OwnServer, type OwnServerParts } from './own-server.js'

const readers = { ...authReaders, dpop: orElse(readDPoP, undefined) }

/** Reads `auth`: another authorization server, or what `signIn()` returns. Throws BAD_OPTION. */
export function readListenerAuth(options: unknown): AuthSettings {
  if (options instanceof OwnServer) return ownSettings(OwnServer.parts(options))
  const { verify: given, ...read } = readOptions(options, readers, 'auth')
  const [issuer = ''] = read.authorizationServers
  if (given === undefined && read.authorizationServers.length > 1)
    throw badOption('auth.verify', 'a function, where there are several authorization servers', undefined)
  return authSettings({ ...read, verify: given ?? jwt({ issuer }) })
}

function ownSettings(own: OwnServerParts): AuthSettings {
  const { resource, issuer, scopes, verify } = own
  const dpop = own.dpop && readDPoP(own.dpop, 'dpop')
  return Object.freeze({
    ...{
      own,
      resource,
      verify,
      scopesSupported: scopes,
      authorizationServers: [issuer],
    },
    ...{ dpop, scopes, impliedScopes: {}, metadata: {} },
    prepare: () => Promise.all([verify.prepare?.(), dpop?.prepare()]),
    metadataUrl: metadataUrlOf(resource),
  })
}
