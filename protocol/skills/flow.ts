import { ProtocolError } from '../wire/errors.js'
import { readPlain } from './scalars.js'

/** A key at the beginning of a line, and what stands behind its colon; undefined for a line without one. */
export function readKey(text: string): { readonly key: string; readonly rest: string } | undefined {
  const isQuoted = text.startsWith('"') || text.startsWith("'")
  if (isQuoted) {
    const reader = new FlowReader(text, 1)
    const key = reader.readQuoted()
    const behind = text.slice(reader.at)
    const colon = /^\s*:(?=\s|$)/.exec(behind)
    return colon === null ? undefined : { key, rest: behind.slice(colon[0].length).trimStart() }
  }
  if (/^[[\]{},#&*!|>'"%@`]/.test(text) || /^[?-](?:\s|$)/.test(text)) return undefined
  const colon = /:(?=\s|$)/.exec(text)
  const comment = text.search(/\s#/)
  if (colon === null || colon.index === 0 || (comment !== -1 && comment < colon.index)) return undefined
  const key = text.slice(0, colon.index).trimEnd()
  if (key === '<<') throw bad('the key << is not read here')
  return { key, rest: text.slice(colon.index + 1).trimStart() }
}

/** Reads one value that begins with a quote, `[` or `{`, over as many lines as it has, from the place `at`. */
export class FlowReader {
  readonly #text: string
  readonly #maxDepth: number
  #at: number

  constructor(text: string, maxDepth: number, at = 0) {
    this.#text = text
    this.#maxDepth = maxDepth
    this.#at = at
  }

  /** Behind what was read so far. */
  get at(): number {
    return this.#at
  }

  /** Whether nothing but a comment follows on this line. */
  get isLineOver(): boolean {
    const pattern = /[ \t]*(?:$|\n|(?<=[ \t])#)/y
    pattern.lastIndex = this.#at
    return pattern.test(this.#text)
  }

  /** Throws BAD_FRONT_MATTER. */
  read(depth = 0): unknown {
    if (depth > this.#maxDepth) throw bad(`more than ${this.#maxDepth} levels`)
    const first = this.#text[this.#at]
    if (first === '"' || first === "'") return this.readQuoted()
    if (first === '[') return this.#list(depth)
    if (first === '{') return this.#mapping(depth)
    return this.#plain()
  }

  /** Throws BAD_FRONT_MATTER. */
  readQuoted(): string {
    const quote = this.#text[this.#at]
    const isDouble = quote === '"'
    const pattern = isDouble ? /"((?:[^"\\]|\\[\s\S])*)"/y : /'((?:[^']|'')*)'/y
    pattern.lastIndex = this.#at
    const [whole, inner] = pattern.exec(this.#text) ?? []
    if (whole === undefined || inner === undefined) throw bad(`a text that begins with ${quote} does not end`)
    this.#at += whole.length
    return isDouble ? unescaped(inner) : folded(inner).replaceAll("''", "'")
  }

  #list(depth: number): unknown[] {
    const items: unknown[] = []
    this.#at += 1
    for (;;) {
      this.#skip()
      if (this.#takes(']')) return items
      const item = this.read(depth + 1)
      this.#skip()
      // `[a: b]` is a mapping in a list
      if (this.#takes(':')) items.push({ [keyOf(item)]: this.#valueAfterColon(depth) })
      else items.push(item)
      this.#skip()
      if (!this.#takes(',') && this.#text[this.#at] !== ']') throw bad('a list is not closed by ]')
    }
  }

  #mapping(depth: number): { [key: string]: unknown } {
    const entries = new Map<string, unknown>()
    this.#at += 1
    for (;;) {
      this.#skip()
      if (this.#takes('}')) return Object.fromEntries(entries)
      const key = keyOf(this.read(depth + 1))
      if (entries.has(key)) throw bad(`the field ${JSON.stringify(key)} stands twice`)
      this.#skip()
      entries.set(key, this.#takes(':') ? this.#valueAfterColon(depth) : null)
      this.#skip()
      if (!this.#takes(',') && this.#text[this.#at] !== '}') throw bad('a mapping is not closed by }')
    }
  }

  #valueAfterColon(depth: number): unknown {
    this.#skip()
    return /[,\]}]/.test(this.#text[this.#at] ?? '') ? null : this.read(depth + 1)
  }

  #plain(): unknown {
    const pattern =
      /(?:[^\s,[\]{}:#]|:(?![\s,[\]{}]|$)|(?<=\S)#|[^\S\n]*\n\s*(?=[^\s,[\]{}:#])|[^\S\n]+(?=[^\s,[\]{}:#]))+/y
    pattern.lastIndex = this.#at
    const [text = ''] = pattern.exec(this.#text) ?? []
    if (text === '') throw bad(`expected a value, got ${JSON.stringify(this.#text[this.#at] ?? 'the end')}`)
    if ('&*!|>%@`'.includes(text[0] ?? '') || /^[?-](?:\s|$)/.test(text))
      throw bad(`a value that begins with ${text[0]} is not read here: put it in quotes`)
    this.#at += text.length
    return readPlain(folded(text.trimEnd()))
  }

  #takes(mark: string): boolean {
    if (this.#text[this.#at] !== mark) return false
    this.#at += 1
    return true
  }

  /** Spaces, line ends and comments. */
  #skip(): void {
    const pattern = /(?:\s|(?<=\s)#[^\n]*)*/y
    pattern.lastIndex = this.#at
    this.#at += pattern.exec(this.#text)?.[0].length ?? 0
  }
}

/** One line end becomes a space, and each empty line a line end. */
function folded(text: string): string {
  return text.replaceAll(
    /(?<![^\S\n])[^\S\n]*\n\s*/g,
    (gap) => '\n'.repeat(gap.split('\n').length - 2) || ' ',
  )
}

const escapes: Readonly<Record<string, string>> = Object.freeze({
  ...{ '0': '\0', a: '\x07', b: '\b', t: '\t', '\t': '\t', n: '\n', v: '\v', f: '\f', r: '\r', e: '\x1b' },
  ...{ ' ': ' ', '"': '"', '/': '/', '\\': '\\', N: '\x85', _: '\xa0', L: '\u2028', P: '\u2029' },
})

function unescaped(inner: string): string {
  // escapes are read after folding would have changed them: so both in one go
  const parts =
    /\\x([\da-f]{2})|\\u([\da-f]{4})|\\U([\da-f]{8})|\\\n\s*|\\([\s\S])|(?<![^\S\n])[^\S\n]*\n\s*/gi
  return inner.replaceAll(parts, (part, two?: string, four?: string, eight?: string, one?: string) => {
    const code = two ?? four ?? eight
    if (code !== undefined) return fromCode(Number.parseInt(code, 16), part)
    if (part.startsWith('\\\n')) return ''
    if (one === undefined) return folded(part)
    const known = escapes[one]
    if (known === undefined) throw bad(`the escape \\${one} is unknown`)
    return known
  })
}

function fromCode(code: number, part: string): string {
  if (code > 0x10_ff_ff) throw bad(`the escape ${part} is no character`)
  return String.fromCodePoint(code)
}

function keyOf(value: unknown): string {
  if (typeof value === 'string' && value !== '<<') return value
  throw bad(`a key has to be a text: put ${String(value)} in quotes`)
}

function bad(problem: string): ProtocolError {
  return new ProtocolError('BAD_FRONT_MATTER', problem)
}
