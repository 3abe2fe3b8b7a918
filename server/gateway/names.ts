import { createHash } from 'node:crypto'

/** Hosts refuse longer names (64 characters is what models take). */
const longest = 64

/**
 * The name under which a tool or prompt of a server is listed: `files__read`. What no name may have becomes
 * `_`; a name that is too long, or is taken, ends with a digest of the whole. The same names have the same
 * answer. Undefined where those are taken, too.
 */
export function listedName(
  server: string | undefined,
  separator: string,
  name: string,
  isTaken: (name: string) => boolean,
): string | undefined {
  const clean = (server === undefined ? '' : prefixOf(server, separator)) + cleaned(name)
  if (clean.length <= longest && !isTaken(clean)) return clean
  const digest = digestOf(`${server ?? ''} ${name}`)
  // another server may have found a name with the same first digits
  return [8, 16, 32]
    .map((digits) => `${clean.slice(0, longest - 1 - digits)}_${digest.slice(0, digits)}`)
    .find((listed) => !isTaken(listed))
}

/** What stands before the names of a server. */
export function prefixOf(server: string, separator: string): string {
  return cleaned(server) + separator
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function cleaned(name: string): string {
  return name.replaceAll(/[^\w.-]/g, '_')
}

/**
 * Of an address or a template. Undefined for `{+x}`: it fits every address, and says of none that it is its
 * own.
 */
export function schemeOf(text: string): string | undefined {
  return /^[a-z][a-z\d+.-]*(?=:)/i.exec(text)?.[0].toLowerCase()
}

/** Whether an address has one of these schemes; names of gateways further in may stand before it. */
export function isOfScheme(uri: string, schemes: ReadonlySet<string>): boolean {
  const scheme = schemeOf(uri)
  if (scheme === undefined) return false
  return schemes.has(scheme) || schemes.has(scheme.slice(scheme.lastIndexOf('+') + 1))
}

/** The schemes of addresses, templates or patterns. */
export function schemesOf(texts: readonly string[]): ReadonlySet<string> {
  return new Set(texts.flatMap((text) => schemeOf(text) ?? []))
}

/** Whether a pattern is a template of addresses of one scheme. */
export function isTemplate(pattern: string): boolean {
  return /\{[^{}]+\}/.test(pattern) && schemeOf(pattern) !== undefined
}

/** A template as a pattern: its variables stand for anything. */
export function patternOf(template: string): string {
  return template.replaceAll(/\{[^{}]*\}/g, '*')
}

/**
 * Whether addresses are like a template, whatever its variables are: most servers take more than RFC 6570
 * writes, such as spaces and quotes. Of a template without `{+x}`, `{/x}`, `{x*}` and the like no variable has
 * a slash.
 */
export function likeTemplate(template: string): (uri: string) => boolean {
  const path = template.replaceAll(/\{[?&#][^{}]*\}/g, '')
  if (path !== template) {
    const isLike = likeTemplate(path)
    return (uri) => isLike(uri.replace(/[?#].*$/s, ''))
  }
  const whole = partsOf(patternOf(template))
  if (/\{[+/]|\*\}/.test(template)) return (uri) => hasParts(uri, whole)
  const segments = patternOf(template).split('/').map(partsOf)
  return (uri) => {
    // no more of them than one too many: an address may have thousands
    const given = uri.split('/', segments.length + 1)
    if (given.length !== segments.length || !hasParts(uri, whole)) return false
    return segments.every((parts, at) => hasParts(given[at] ?? '', parts))
  }
}

/** Whether it stands for more than itself. */
export function isPattern(name: string): boolean {
  return name.includes('*')
}

/** Whether a name fits one of the patterns, in which `*` stands for anything. */
export function fits(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => hasParts(name, partsOf(pattern)))
}

function partsOf(pattern: string): readonly string[] {
  return pattern.split('*')
}

/** Whether a text has these parts, in order, with anything between them. */
function hasParts(text: string, [first = '', ...rest]: readonly string[]): boolean {
  if (rest.length === 0) return text === first
  const last = rest.at(-1) ?? ''
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  const end = text.length - last.length
  // matches each part as early as possible, which leaves the most room for the next ones
  let at = first.length
  for (const part of rest.slice(0, -1)) {
    const found = text.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return at <= end
}
