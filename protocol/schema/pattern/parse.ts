/** A regular expression as a tree; captures and laziness are left out: they do not change what matches. */
export type PatternNode =
  | { readonly type: 'atom'; readonly source: string }
  | { readonly type: 'assert'; readonly kind: 'start' | 'end' | 'word' | 'not_word' }
  | { readonly type: 'look'; readonly ahead: boolean; readonly negative: boolean; readonly body: PatternNode }
  | { readonly type: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly type: 'choice'; readonly options: readonly PatternNode[] }
  | { readonly type: 'repeat'; readonly body: PatternNode; readonly min: number; readonly max: number }

const groupOpening = /\((?:\?(?:[:=!]|<[=!]|<[^>=!]+>))?/y
const counted = /\{(\d+)(?:(,)(\d*))?\}/y
const characterClass = /\[(?:\\[\s\S]|[^\]\\])*\]/y
const backreference = /\\(?:[1-9]|k)/y
const surrogates = /u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}/.source
const shortEscapes = /u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[a-zA-Z]|[\s\S]/.source
const unicodeEscape = new RegExp(
  `\\\\(?:${surrogates}|u\\{[\\da-fA-F]+\\}|[pP]\\{[^}]*\\}|${shortEscapes})`,
  'uy',
)
const plainEscape = new RegExp(`\\\\(?:${shortEscapes})`, 'y')

const wordAsserts: { readonly [source: string]: PatternNode } = {
  '\\b': { type: 'assert', kind: 'word' },
  '\\B': { type: 'assert', kind: 'not_word' },
}

/**
 * Reads the source of a regular expression that `RegExp` accepts, with or without the flag `u`; undefined for
 * backreferences and inline flags, which cannot be matched in linear time or are too new.
 */
export function parsePattern(source: string, unicode: boolean): PatternNode | undefined {
  let at = 0
  let supported = true

  function readChoice(): PatternNode {
    const options = [readSequence()]
    while (source[at] === '|') {
      at++
      options.push(readSequence())
    }
    return options.length === 1 && options[0] !== undefined ? options[0] : { type: 'choice', options }
  }

  function readSequence(): PatternNode {
    const parts: PatternNode[] = []
    while (supported && at < source.length && source[at] !== '|' && source[at] !== ')') {
      parts.push(readQuantified(readTerm()))
    }
    return { type: 'sequence', parts }
  }

  function readTerm(): PatternNode {
    const character = source[at]
    if (character === '(') return readGroup()
    if (character === '[') return { type: 'atom', source: take(characterClass) }
    if (character === '\\') return readEscape()
    const literal = unicode ? String.fromCodePoint(source.codePointAt(at) ?? 0) : (character ?? '')
    at += literal.length
    if (literal === '^') return { type: 'assert', kind: 'start' }
    if (literal === '$') return { type: 'assert', kind: 'end' }
    return { type: 'atom', source: literal }
  }

  function readGroup(): PatternNode {
    const opening = take(groupOpening)
    if (opening === '(' && source[at] === '?') return refuse()
    const body = readChoice()
    at++ // the closing parenthesis, which RegExp has seen
    const [, behind, kind] = /^\(\?(<?)([=!])$/.exec(opening) ?? []
    if (kind === undefined) return body
    return { type: 'look', ahead: behind === '', negative: kind === '!', body }
  }

  function readEscape(): PatternNode {
    if (take(backreference) !== '') return refuse()
    const escaped = take(unicode ? unicodeEscape : plainEscape)
    return wordAsserts[escaped] ?? { type: 'atom', source: escaped }
  }

  function readQuantified(body: PatternNode): PatternNode {
    const [min, max] = readCounts()
    if (min === 1 && max === 1) return body
    if (source[at] === '?') at++ // lazy
    return { type: 'repeat', body, min, max }
  }

  function readCounts(): readonly [min: number, max: number] {
    const character = source[at]
    if (character === '{') return readBraces()
    if (character !== '*' && character !== '+' && character !== '?') return [1, 1]
    at++
    return [character === '+' ? 1 : 0, character === '?' ? 1 : Number.POSITIVE_INFINITY]
  }

  function readBraces(): readonly [min: number, max: number] {
    const [, low, comma, high] = /^\{(\d+)(?:(,)(\d*))?\}$/.exec(take(counted)) ?? []
    if (low === undefined) return [1, 1] // without the flag `u` a lone brace is a literal
    if (comma === undefined) return [Number(low), Number(low)]
    return [Number(low), high ? Number(high) : Number.POSITIVE_INFINITY]
  }

  function take(expression: RegExp): string {
    const sticky = new RegExp(expression) // a copy: lastIndex is state
    sticky.lastIndex = at
    const found = sticky.exec(source)?.[0] ?? ''
    at += found.length
    return found
  }

  function refuse(): PatternNode {
    supported = false
    return { type: 'sequence', parts: [] }
  }

  const tree = readChoice()
  return supported && at === source.length ? tree : undefined
}
