/**
 * A text of somebody else without what it repeats of `secrets`. A secret that is repeated in other letters, as it
 * stands in a form, in JSON, HTML or Base64, takes the whole text with it.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  if (secrets.length === 0) return text
  // a short one may be a part of a long one, which would not be found any more
  const all = [...new Set(secrets)].sort((one, other) => other.length - one.length)
  const left = all.reduce((rest, one) => rest.replaceAll(one, hidden), text)
  const isShown = readingsOf(left).some((reading) => all.some((secret) => reading.includes(secret)))
  return isShown ? hidden : left
}

const hidden = '...'

/**
 * What of the headers of a request nobody else may read: credentials, whole and by themselves. Names in lower
 * case.
 */
export function secretsSent(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (!/auth|token|secret|key|cookie|dpop/.test(name)) return []
    const [, bare = ''] = /^[\w-]+ +(.+)$/.exec(value) ?? []
    return [value, bare].filter((text) => text.length >= shortest)
  })
}

/** Characters of what is a secret: shorter ones stand in too many words. */
const shortest = 6

/** What a reader may make of a text: each way of writing taken back, once and twice. */
function readingsOf(text: string): readonly string[] {
  const once = ways.map((way) => way(text))
  return [...once, ...once.flatMap((reading) => ways.map((way) => way(reading)))]
}

const ways: readonly ((text: string) => string)[] = [
  (text) => fromPercent(text.replaceAll('+', ' ')),
  fromPercent,
  (text) =>
    text.replace(/\\(?:u([\da-f]{4})|(.))/gi, (_, hex: string | undefined, sign: string) =>
      hex === undefined ? sign : String.fromCharCode(Number.parseInt(hex, 16)),
    ),
  (text) =>
    text
      .replace(/&#x([\da-f]{1,6});/gi, (_, hex: string) => characterOf(Number.parseInt(hex, 16)))
      .replace(/&#(\d{1,7});/g, (_, decimal: string) => characterOf(Number(decimal)))
      .replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => entities[name] ?? ''),
  (text) => text.replace(/[\w+/-]{4,}/g, (word) => ` ${Buffer.from(word, 'base64').toString()} `),
]

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function characterOf(code: number): string {
  return code <= 0x10_ffff ? String.fromCodePoint(code) : ''
}

/** Percent-encoding of UTF-8, as far as it is that. */
function fromPercent(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString())
}
