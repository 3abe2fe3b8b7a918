import { cut } from '../../runtime/base/cut.js'
import { isObject } from '../../protocol/wire/json.js'

/** Places that are told of one definition, and code points of each. */
const mostPlaces = 5
const mostPoints = 8
/** How deep a definition is looked through; what is deeper is told as a place of its own. */
const deepest = 64
/** Characters of the path of a place. */
const longestPath = 200

/**
 * What a person does not see, and a model reads: C0 but tab and line breaks, DEL and C1, marks of direction,
 * characters without width, tags, selectors of variants, private use, halves of pairs.
 */
const hidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each is looked for by itself
  /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|\u034f|\p{Co}|\p{Cs}/gu

/** Where they say how what is before them is shown: emoji, and scripts whose letters join. */
const shown =
  /(?<=\p{Extended_Pictographic}\ufe0f?[\u{1f3fb}-\u{1f3ff}]?)\u200d(?=\p{Extended_Pictographic})|(?<=[\p{Extended_Pictographic}#*\d])[\ufe0e\ufe0f](?![\ufe00-\ufe0f])|(?<=[\p{scx=Arab}\p{scx=Beng}\p{scx=Deva}\p{scx=Gujr}\p{scx=Guru}\p{scx=Knda}\p{scx=Mlym}\p{scx=Mong}\p{scx=Orya}\p{scx=Sinh}\p{scx=Syrc}\p{scx=Taml}\p{scx=Telu}])[\u200c\u200d](?=[\p{L}\p{M}\s]|$)/gu

/** Without any of these in its JSON, a definition has none. */
const maybe = /[^ -~]|\\[ubf]/

/**
 * Where a definition has characters that nobody sees, and which: `description: U+200B at 17`. Empty: nowhere.
 * `text` is its JSON, if that is there.
 */
export function hiddenIn(definition: unknown, text = JSON.stringify(definition)): readonly string[] {
  if (!maybe.test(text)) return []
  const places: string[] = []
  let more = 0
  const add = (path: string, problem: string): void => {
    if (places.length < mostPlaces) places.push(`${visible(path) || 'text'}: ${problem}`)
    else more += 1
  }
  const look = (value: unknown, path: string, depth: number): void => {
    if (typeof value === 'string') {
      const found = pointsIn(value)
      if (found !== '') add(path, found)
    } else if (depth === deepest) {
      if (Array.isArray(value) || isObject(value)) add(path, `more than ${deepest} levels`)
    } else if (Array.isArray(value)) {
      for (const [at, each] of value.entries()) look(each, `${path}[${at}]`, depth + 1)
    } else if (isObject(value))
      for (const [key, each] of Object.entries(value)) {
        const within = path === '' ? key : `${path}.${key}`
        const found = pointsIn(key)
        if (found !== '') add(within, `${found} of its name`)
        look(each, within, depth + 1)
      }
  }
  look(definition, '', 0)
  return more === 0 ? places : [...places, `${more} more`]
}

/** A text with what nobody would see, or what would steer a terminal, as code points: `<U+200B>`. */
export function visible(text: string): string {
  const some = text.length > longestPath ? `${cut(text, longestPath)}...` : text
  return some.replace(/[\n\r\t]/g, ' ').replace(hidden, (found) => `<${pointOf(found)}>`)
}

/** Like `U+200B at 17, U+202E at 20`; empty: none. Places count UTF-16 units from 0. */
function pointsIn(text: string): string {
  const fine = new Set<number>()
  for (const { index } of text.matchAll(shown)) fine.add(index)
  const found = [...text.matchAll(hidden)].filter(({ index }) => !fine.has(index))
  const some = found.slice(0, mostPoints).map(({ 0: unit, index }) => `${pointOf(unit)} at ${index}`)
  return [...some, ...(found.length > mostPoints ? [`${found.length - mostPoints} more`] : [])].join(', ')
}

function pointOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
