/** Readings of one address, and characters of all of them: an address with more is refused as misleading. */
const most = 256
export const mostText = 1 << 18

/**
 * What a server may read an address as, itself first: encoded or not, its path with or without `..`, its host
 * with or without user, port and dot, with what follows `?`, `#` or NUL or without that. Nobody can say which
 * of them a server takes. Undefined where there are too many. What is no address is read as it is.
 */
export function readingsOf(address: string): readonly string[] | undefined {
  return closure([address], readers)
}

/** The same, also of what gateways further in may take it for, which take names of their servers off. */
export function readingsWithin(address: string): readonly string[] | undefined {
  const within = unqualified(address)
  return within && closure([address, ...within], readers)
}

/** The readings of addresses, each read once: many servers may have to judge one. */
export class Readings {
  readonly #plain = new Map<string, readonly string[] | undefined>()
  readonly #within = new Map<string, readonly string[] | undefined>()

  of(address: string): readonly string[] | undefined {
    return once(this.#plain, address, readingsOf)
  }

  within(address: string): readonly string[] | undefined {
    return unqualified(address)?.length === 0 ? this.of(address) : once(this.#within, address, readingsWithin)
  }
}

function once<Value>(known: Map<string, Value>, text: string, read: (text: string) => Value): Value {
  if (!known.has(text)) known.set(text, read(text))
  return known.get(text) as Value
}

/** What a pattern of addresses fits that are read so; undefined where there are too many. */
export function readingsOfPattern(pattern: string): readonly string[] | undefined {
  return closure([pattern], patternReaders)
}

/** Of a pattern, the other ways to write it: none of them fits more. Undefined where there are too many. */
export function sameAs(pattern: string): readonly string[] | undefined {
  return closure([pattern], same)
}

type AddressReader = (uri: string) => string

function closure(texts: readonly string[], steps: readonly AddressReader[]): readonly string[] | undefined {
  if (!texts.some((text) => isAddress.test(text))) return texts
  const found = new Set(texts)
  let size = texts.reduce((sum, { length }) => sum + length, 0)
  // a set that grows while it is walked: each reading may be read on
  for (const reading of found)
    for (const read of steps) {
      const next = read(reading)
      if (found.has(next) || next === '') continue
      found.add(next)
      size += next.length
      if (found.size > most || size > mostText) return undefined
    }
  return [...found]
}

/**
 * The same text for names that differ in case or in the form of their letters alone: some file systems take
 * either.
 */
export function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

/** Names of servers before an address: a gateway behind a gateway behind a gateway ... */
const mostNames = 8

/**
 * Of an address behind names of servers, `a+b+note://1`, what a gateway may read as the address. Undefined for one
 * behind more names than there are gateways.
 */
export function unqualified(uri: string): readonly string[] | undefined {
  const found: string[] = []
  const colon = uri.indexOf(':')
  for (let at = uri.indexOf('+'); at !== -1 && at < colon; at = uri.indexOf('+', at + 1)) {
    if (found.length === mostNames) return undefined
    found.push(uri.slice(at + 1))
  }
  return found
}

/** Whatever may have a scheme; names of tools mostly have no colon. */
const isAddress = /:|%(?:25)*3a|：/i

/**
 * RFC 3986, section 3: scheme, authority, and what comes after it; of a pattern, too, in which `*` is
 * anything.
 */
const parts = /^([a-z*][a-z\d+.*-]*):(?:\/\/([^/?#]*))?(.*)$/is

/** Each is one thing that some reader of addresses does, and leaves all others alone. */
const same: readonly AddressReader[] = [
  (uri) => uri.replaceAll(/(?:%[\da-f]{2})+/gi, decoded),
  // some decode octet by octet: those that are no UTF-8 hide none beside them
  (uri) => uri.replaceAll(/%[0-7][\da-f]/gi, decoded),
  // neither is UTF-8, and some decode both all the same
  (uri) =>
    uri.replaceAll(/%u([\da-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
  (uri) =>
    uri.replaceAll(/%c([01])%([89ab][\da-f])/gi, (_, high: string, low: string) =>
      String.fromCharCode((Number(high) << 6) | (Number.parseInt(low, 16) & 0x3f)),
    ),
  (uri) => uri.replaceAll(/[\\\u2044\u2215]/g, '/'),
  (uri) => uri.normalize('NFKC'),
  (uri) => uri.normalize('NFC'),
  (uri) => uri.replace(/^[a-z*][a-z\d+.*-]*:/i, (scheme) => scheme.toLowerCase()),
  (uri) => (URL.canParse(uri) ? new URL(uri).href : uri),
  // `db:///x`, `db:/x` and `db:x` are all `db://x` for somebody
  (uri) => uri.replace(/^([^:/]+):\/*/, (_, scheme: string) => `${scheme}:${isFile(scheme) ? '///' : '//'}`),
  withParts((authority, rest) => [authority.toLowerCase().replaceAll(/[。．｡]/g, '.'), rest]),
  withParts((authority, rest) => [authority.replace(/\.(?=:\d*$|$)/, ''), rest]),
  withParts((authority, rest) => [authority, rest.replaceAll(/\/{2,}/g, '/')]),
  withParts((authority, rest) => [authority, withoutDots(rest)]),
]

/** What is dropped is kept as it `stays`. */
function dropping(stays: (dropped: string) => string): readonly AddressReader[] {
  const before = (text: string, mark: string): string => {
    const at = text.indexOf(mark)
    return at === -1 ? text : text.slice(0, at) + stays(text.slice(at))
  }
  return [
    (uri) => uri.replaceAll(/[\p{Cc}\p{Default_Ignorable_Code_Point}]/gu, '').trim(),
    // as addresses stand in texts (RFC 3986, appendix C), and one within another: `jar:file:///x`
    (uri) => uri.replace(/^<(.*)>$/s, '$1'),
    (uri) => uri.replace(/^(?:url:|[a-z][a-z\d+.-]*:(?=[a-z][a-z\d+.-]*:\/))/i, ''),
    (uri) => before(uri, '\0'),
    (uri) => before(uri, '#'),
    (uri) => before(uri, '?'),
    asWeb,
    withParts((authority, rest, scheme) => (isFile(scheme) ? ['', rest] : [authority, rest])),
    // some cut the scheme off, and take all that is left for a path: `db://x/../users` is `db://users`
    withParts((authority, rest) => [withoutDots(`/${authority}${rest}`).slice(1), '']),
    withParts((authority, rest) => [authority.replace(/^\[([^:\]]*)\]/, '$1'), rest]),
    withParts((authority, rest) => [authority.replace(/:[^:\]]*$/, stays), rest]),
    // some look for the user up to the first `/`, whatever comes before it
    (uri) =>
      uri.replace(/^([^:/]+:\/\/)([^/@]*@)/, (_, scheme: string, user: string) => scheme + stays(user)),
    withParts((authority, rest) => [authority, rest.split('/').map(withoutTail).join('/')]),
    withParts((authority, rest) => [authority, rest.endsWith('/') ? rest.slice(0, -1) : rest]),
  ]
}

const readers = [...same, ...dropping(() => '')]
const patternReaders = [...same, ...dropping((dropped) => (dropped.includes('*') ? '*' : ''))]

function withParts(
  change: (authority: string, rest: string, scheme: string) => readonly [authority: string, rest: string],
): AddressReader {
  return (uri) => {
    const [, scheme = '', authority, rest = ''] = parts.exec(uri) ?? []
    if (authority === undefined) return uri
    const [host, path] = change(authority, rest, scheme)
    return `${scheme}://${host}${path}`
  }
}

function isFile(scheme: string): boolean {
  return scheme.toLowerCase() === 'file'
}

/** A host of any scheme as one of the web: `0x7f.1` is 127.0.0.1. */
function asWeb(uri: string): string {
  const [, scheme = '', authority] = parts.exec(uri) ?? []
  const web = `http${uri.slice(scheme.length)}`
  if (!authority || isFile(scheme) || !URL.canParse(web)) return uri
  return scheme + new URL(web).href.slice('http'.length)
}

/** RFC 3986, section 5.2.4, for whatever stands between slashes. */
function withoutDots(path: string): string {
  if (!/(?:^|\/)\.{1,2}(?:\/|$)/.test(path)) return path
  const kept: string[] = []
  const segments = path.split('/')
  for (const [at, segment] of segments.entries()) {
    // the first one is what comes before the first slash: nothing
    if (segment === '..' && kept.length > 1) kept.pop()
    if (segment !== '.' && segment !== '..') kept.push(segment)
    else if (at === segments.length - 1) kept.push('')
  }
  return kept.join('/')
}

/** As Windows takes names, without dots and spaces at the end and streams; as servlets do, without parameters. */
function withoutTail(segment: string): string {
  const [whole = ''] = segment.split(/;|::\$/, 1)
  const isAbove = whole.startsWith('.') && /^\.\.? *$/.test(whole)
  let end = whole.length
  while (end > 0 && (whole[end - 1] === ' ' || (!isAbove && whole[end - 1] === '.'))) end--
  return whole.slice(0, end)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    // no UTF-8: it stands for itself
    return part
  }
}
