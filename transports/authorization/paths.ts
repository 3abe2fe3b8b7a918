/** Where an authorization server has what (`oidc-provider`: routes). */
export const routes = {
  authorization: '/authorize',
  token: '/token',
  registration: '/register',
  revocation: '/revoke',
  jwks: '/jwks',
  end_session: '/sign-out',
}
/** Where a provider sends browsers back to. */
export const callbackPath = '/sign-in/callback'
/** What comes after a login, and where an authorization goes on after it. */
const pagePath = /^\/sign-in\/([\w-]{1,100})$/
/** Where a user signs in at the provider for more. */
const visitPath = /^\/sign-in\/more\/([\w-]{1,100})$/
const resumePath = /^\/authorize\/([\w-]{1,100})$/
/** With the path of MCP behind it, or before it, too: hosts look in all of these places. */
const metadataPath = /^(.*)(\/\.well-known\/(?:oauth-authorization-server|openid-configuration))(?:\/.*)?$/
// nobody signs out by a page: that of the library has a script
const { end_session: _, ...served } = routes
const others: ReadonlySet<string> = new Set([...Object.values(served), callbackPath])

/** Whether a path is one of an authorization server: as it is written, since others may read it otherwise. */
export function isOwnPath(path: string, mcpPath: string): boolean {
  if (others.has(path) || [pagePath, visitPath, resumePath].some((own) => own.test(path))) return true
  return metadataPlaceOf(path, mcpPath) !== undefined
}

const upstreamCallback = '/upstream/callback/'
/** Characters of the name of a server there. */
const longestName = 1_000
const upstreamPage = /^\/upstream\/sign-in\/([\w-]{43})$/

/** Whether a path is of the logins at servers behind this one. */
export function isUpstreamPath(path: string): boolean {
  return isUpstreamCallback(path) || upstreamPage.test(path)
}

/**
 * Where the authorization server of a server behind this one sends browsers back to: one address for each, so
 * that none passes an answer of another one on as its own (RFC 9700, section 4.4).
 */
export function upstreamCallbackOf(server: string): string {
  return `${upstreamCallback}${encodeURIComponent(server)}`
}

/** Whether a path is that of one of them. */
export function isUpstreamCallback(path: string): boolean {
  return path.startsWith(upstreamCallback) && path.length < upstreamCallback.length + 3 * longestName
}

/** The sign-in at such a server that a path is the page of. */
export function upstreamLoginOf(path: string): string | undefined {
  return upstreamPage.exec(path)?.[1]
}

/** The step of an authorization that a path is the page of. */
export function pageOf(path: string): string | undefined {
  return pagePath.exec(path)?.[1]
}

/** The step after which an authorization goes on at a path. */
export function resumedAt(path: string): string | undefined {
  return resumePath.exec(path)?.[1]
}

/** The visit for more scopes that a path is the page of. */
export function visitOf(path: string): string | undefined {
  return visitPath.exec(path)?.[1]
}

/** The place of the metadata that a path is for; below other paths others may have theirs. */
export function metadataPlaceOf(path: string, mcpPath: string): string | undefined {
  const [, before, wellKnown] = metadataPath.exec(path) ?? []
  return before === '' || before === mcpPath ? wellKnown : undefined
}
