/** Why a server refuses a request (RFC 6750, section 3; RFC 9728, section 5.1). */
export interface BearerChallenge {
  readonly error?: string
  readonly scope?: string
  readonly resourceMetadata?: string
}

/** The Bearer challenge of `WWW-Authenticate` (RFC 9110, 11.6.1). Reading ends where it is malformed. */
export function readBearer(header: string | undefined): BearerChallenge | undefined {
  if (header === undefined) return undefined
  const bearers = readChallenges(header).filter(({ scheme }) => scheme === 'bearer')
  const best = bearers.find(({ params }) => params.size > 0) ?? bearers[0]
  if (best === undefined) return undefined
  const names = ['error', 'scope', 'resource_metadata']
  const [error, scope, resourceMetadata] = names.map((name) => best.params.get(name))
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
