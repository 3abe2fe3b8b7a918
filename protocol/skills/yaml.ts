import { ProtocolError } from '../wire/errors.js'
import { FlowReader, readKey } from './flow.js'
import { readBlockText, readPlain } from './scalars.js'

/** Levels of lists and mappings inside each other. */
const maxDepth = 32

/**
 * Reads the YAML that stands in front of a `SKILL.md`: one mapping, by the core schema of YAML 1.2. Lists,
 * mappings and texts of all styles are read. Anchors, aliases, tags, directives and keys that are no texts are
 * not, nor is a key that stands twice. Throws BAD_FRONT_MATTER, naming the line, counted from `firstLine`.
 */
export function readYaml(lines: readonly string[], firstLine = 1): { [key: string]: unknown } {
  return new YamlReader(lines, firstLine).read()
}

/** The key or the mark of a list whose value is read. */
interface Owner {
  readonly indent: number
  readonly depth: number
  readonly isKey: boolean
}

class YamlReader {
  /** Marks of lists are replaced by spaces as they are read. */
  readonly #lines: string[]
  readonly #firstLine: number
  readonly #whole: string
  /** Where each line begins in the whole. */
  readonly #starts: readonly number[]
  #at = 0

  constructor(lines: readonly string[], firstLine: number) {
    this.#lines = [...lines]
    this.#firstLine = firstLine
    this.#whole = lines.join('\n')
    let start = 0
    this.#starts = lines.map((line) => {
      const own = start
      start += line.length + 1
      return own
    })
  }

  read(): { [key: string]: unknown } {
    const indent = this.#next()
    if (indent === undefined) return {}
    if (isListItem(this.#text(indent))) throw this.#bad('expected fields such as name: value, got a list')
    const value = this.#mapping(indent, 0)
    if (this.#next() !== undefined) throw this.#bad('this line is indented otherwise than those before it')
    return value
  }

  /** The value that begins on this line, which has this indent. */
  #block(indent: number, depth: number, parent = indent - 1): unknown {
    if (depth > maxDepth) throw this.#bad(`more than ${maxDepth} levels`)
    const text = this.#text(indent)
    if (isListItem(text)) return this.#list(indent, depth)
    if (this.#isEntry(text)) return this.#mapping(indent, depth)
    return this.#inline(text, parent)
  }

  #mapping(indent: number, depth: number): { [key: string]: unknown } {
    const entries = new Map<string, unknown>()
    for (let found: number | undefined = indent; found === indent; found = this.#next()) {
      const text = this.#text(indent)
      if (isListItem(text)) break
      const read = this.#guard(() => readKey(text))
      if (read === undefined) throw this.#bad('expected a field such as name: value')
      if (entries.has(read.key)) throw this.#bad(`the field ${JSON.stringify(read.key)} stands twice`)
      entries.set(read.key, this.#value(read.rest, { indent, depth, isKey: true }))
    }
    this.#checkDedented(indent)
    return Object.fromEntries(entries)
  }

  #list(indent: number, depth: number): unknown[] {
    const items: unknown[] = []
    for (let found: number | undefined = indent; found === indent; found = this.#next()) {
      const text = this.#text(indent)
      if (!isListItem(text)) break
      const rest = text.slice(1)
      const inner = indent + 1 + rest.length - rest.trimStart().length
      const content = withoutComment(rest.trimStart())
      if (content !== '' && (isListItem(content) || this.#isEntry(content))) {
        // what stands behind the mark is a block of its own
        this.#lines[this.#at] = ' '.repeat(inner) + rest.trimStart()
        items.push(this.#block(inner, depth + 1))
      } else items.push(this.#value(rest.trimStart(), { indent, depth, isKey: false }))
    }
    this.#checkDedented(indent)
    return items
  }

  /** The value behind a key or a mark; the lines that belong to it are indented further than `indent`. */
  #value(rest: string, { indent, depth, isKey }: Owner): unknown {
    if (withoutComment(rest) !== '') return this.#inline(rest, indent)
    this.#at += 1
    const next = this.#next()
    if (next === undefined || next < indent) return null
    if (next > indent) return this.#block(next, depth + 1, indent)
    // a list may stand as far left as its key
    return isKey && isListItem(this.#text(next)) ? this.#list(next, depth + 1) : null
  }

  /** A value that begins on this line. */
  #inline(rest: string, indent: number): unknown {
    const [first = ''] = rest
    if (first === '|' || first === '>') return this.#blockText(rest, indent)
    if ('"\'[{'.includes(first)) return this.#flow(rest)
    if ('&*!%@`,]}'.includes(first) || /^[?-](?:\s|$)/.test(rest))
      throw this.#bad(`a value that begins with ${first} is not read here: put it in quotes`)
    return this.#plain(rest, indent)
  }

  #plain(rest: string, indent: number): unknown {
    const parts = [this.#line(rest)]
    let blanks = 0
    let isClosed = parts[0] !== rest.trimEnd()
    for (this.#at += 1; this.#at < this.#lines.length && !isClosed; this.#at += 1) {
      const line = this.#lines[this.#at] ?? ''
      const text = line.trim()
      if (text === '') {
        blanks += 1
        continue
      }
      if (indentOf(line) <= indent || text.startsWith('#')) break
      const part = this.#line(text)
      parts.push(blanks === 0 ? ' ' : '\n'.repeat(blanks), part)
      blanks = 0
      isClosed = part !== text
    }
    this.#at -= blanks
    return this.#guard(() => readPlain(parts.join('')))
  }

  /** One line of a text without quotes. */
  #line(text: string): string {
    const part = withoutComment(text)
    if (/:(?:\s|$)/.test(part)) throw this.#bad('a text with ": " in it has to stand in quotes')
    return part
  }

  #blockText(header: string, indent: number): string {
    const start = this.#at + 1
    let end = start
    while (end < this.#lines.length) {
      const line = this.#lines[end] ?? ''
      if (line.trim() !== '' && indentOf(line) <= indent) break
      end += 1
    }
    const text = this.#guard(() => readBlockText(header, this.#lines.slice(start, end), indent))
    this.#at = end
    return text
  }

  /** Texts in quotes, `[lists]` and `{mappings}` may go on over several lines. */
  #flow(rest: string): unknown {
    const begin = (this.#starts[this.#at] ?? 0) + (this.#lines[this.#at]?.length ?? 0) - rest.length
    const reader = new FlowReader(this.#whole, maxDepth, begin)
    const value = this.#guard(() => reader.read())
    while ((this.#starts[this.#at + 1] ?? Number.POSITIVE_INFINITY) <= reader.at) this.#at += 1
    if (!reader.isLineOver) throw this.#bad('expected the end of the line')
    this.#at += 1
    return value
  }

  #isEntry(text: string): boolean {
    return this.#guard(() => readKey(text)) !== undefined
  }

  /** Goes to the next line that says something; answers its indent. */
  #next(): number | undefined {
    for (; this.#at < this.#lines.length; this.#at += 1) {
      const line = this.#lines[this.#at] ?? ''
      const text = line.trim()
      if (text === '' || text.startsWith('#')) continue
      const indent = indentOf(line)
      if (line[indent] === '\t') throw this.#bad('a tab cannot indent a line')
      return indent
    }
    return undefined
  }

  #text(indent: number): string {
    return (this.#lines[this.#at] ?? '').slice(indent)
  }

  #checkDedented(indent: number): void {
    const next = this.#next()
    if (next !== undefined && next > indent)
      throw this.#bad('this line is indented otherwise than those before it')
  }

  /** What `read` answers; its error gets the line. */
  #guard<Value>(read: () => Value): Value {
    try {
      return read()
    } catch (error) {
      throw error instanceof ProtocolError && error.code === 'BAD_FRONT_MATTER'
        ? this.#bad(error.message)
        : error
    }
  }

  #bad(problem: string): ProtocolError {
    const line = Math.min(this.#at, this.#lines.length - 1) + this.#firstLine
    return new ProtocolError('BAD_FRONT_MATTER', `line ${line}: ${problem}`)
  }
}

function indentOf(line: string): number {
  return line.length - line.replace(/^ +/, '').length
}

function isListItem(text: string): boolean {
  return /^-(?:\s|$)/.test(text)
}

/** Without the comment that ends a line, and the space before it. */
function withoutComment(text: string): string {
  const at = text.search(/(?:^|\s)#/)
  return (at === -1 ? text : text.slice(0, at)).trimEnd()
}
