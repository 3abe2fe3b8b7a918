import { badOption, orElse, readOptions } from '../base/read-option.js'
import { readDPoP } from './dpop.js'
import { jwt } from './jwt.js'
import { authReaders, type AuthSettings, authSettings, checkNoProvider, ownSettings } from './options.js'
import { OwnServer } from './own-server.js'

const readers = { ...authReaders, dpop: orElse(readDPoP, undefined) }

/** Reads `auth`: another authorization server, or what `signIn()` returns. Throws BAD_OPTION. */
export function readListenerAuth(options: unknown): AuthSettings {
  if (options instanceof OwnServer) {
    const own = OwnServer.parts(options)
    return ownSettings(own, own.dpop && readDPoP(own.dpop, 'dpop'))
  }
  checkNoProvider(options)
  const { verify: given, ...read } = readOptions(options, readers, 'auth')
  const [issuer = ''] = read.authorizationServers
  if (given === undefined && read.authorizationServers.length > 1)
    throw badOption('auth.verify', 'a function, where there are several authorization servers')
  return authSettings({ ...read, verify: given ?? jwt({ issuer }) })
}
