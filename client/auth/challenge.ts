/** Why a server refuses a request (RFC 6750, section 3; RFC 9449, 7.1; RFC 9728, 5.1). */
export interface TokenChallenge {
  readonly error?: string
  readonly scope?: string
  readonly resourceMetadata?: string
}

/**
 * The Bearer and DPoP challenges of `WWW-Authenticate` (RFC 9110, 11.6.1), as one, what DPoP
 * says first. Reading ends where it is malformed.
 */
export function readChallenge(header: string | undefined): TokenChallenge | undefined {
  if (header === undefined) return undefined
  const all = readChallenges(header)
  const known = ['dpop', 'bearer'].flatMap((name) => all.filter(({ scheme }) => scheme === name))
  if (known.length === 0) return undefined
  const names = ['error', 'scope', 'resource_metadata']
  const [error, scope, resourceMetadata] = names.map((name) =>
    known.map(({ params }) => params.get(name)).find((value) => value !== undefined),
  )
  return {
    ...(error !== undefined && { error }),
    ...(scope !== undefined && { scope }),
    ...(resourceMetadata !== undefined && { resourceMetadata }),
  }
}

interface Parsed {
  readonly scheme: string
  readonly params: Map<string, string>
}

const piece =
  /[\s,]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"=]+)(?![^\s,]))|[ \t]+([\w~+/.-]+=*)(?=[ \t]*(?:,|$))|(?=[\s,]|$))/y

function readChallenges(header: string): readonly Parsed[] {
  const found: Parsed[] = []
  piece.lastIndex = 0
  // no honest header is longer
  const text = header.slice(0, 8_192)
  for (let match = piece.exec(text); match !== null; match = piece.exec(text)) {
    const [, name = '', quoted, plain] = match
    const value = quoted?.replace(/\\(.)/g, '$1') ?? plain
    if (value === undefined) found.push({ scheme: name.toLowerCase(), params: new Map() })
    else found.at(-1)?.params.set(name.toLowerCase(), value)
  }
  return found
}
