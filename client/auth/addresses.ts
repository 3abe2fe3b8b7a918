/**
 * Where the metadata of a protected resource may be, in order (RFC 9728, section 3.1): with the path of the
 * resource, then at the root.
 */
export function resourceMetadataUrls(server: URL): readonly URL[] {
  const wellKnown = '/.well-known/oauth-protected-resource'
  const path = server.pathname === '/' ? '' : server.pathname.replace(/\/$/, '')
  return unique([wellKnown + path, wellKnown]).map((place) => new URL(place, server.origin))
}

/**
 * Where the metadata of an issuer may be, in order (specification: authorization, discovery): RFC 8414, then
 * OpenID Connect.
 */
export function serverMetadataUrls(issuer: URL): readonly URL[] {
  const path = issuer.pathname.replace(/\/$/, '')
  const [oauth, openid] = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']
  return unique([oauth + path, openid + path, path + openid]).map((place) => new URL(place, issuer.origin))
}

/** The address of a server without what does not name it (RFC 8707, section 2). */
export function resourceOf(server: URL): string {
  return server.pathname === '/' ? server.origin : server.origin + server.pathname
}

/** Whether a resource, as its metadata names it, is the server that was asked or one above it. */
export function covers(resource: string, server: URL): boolean {
  if (!URL.canParse(resource) || resource.includes('#')) return false
  const { origin, pathname } = new URL(resource)
  const folder = pathname.endsWith('/') ? pathname : `${pathname}/`
  return origin === server.origin && `${server.pathname}/`.startsWith(folder)
}

function unique(places: readonly string[]): readonly string[] {
  return [...new Set(places)]
}
