import { isObject } from '../../protocol/wire/json.js'
import { didYouMean } from '../../runtime/base/near.js'
import type { Invocation } from '../base/invocation.js'
import { exitCodes, UsageError } from '../base/usage-error.js'
import { type Path, valueAt, withoutValue, withValue } from '../hosts/edit-jsonc.js'
import { parseJsonc } from '../hosts/jsonc.js'
import { withoutSecrets } from '../hosts/secrets.js'
import { printAs } from '../terminal/output.js'
import { jsonText, oneLine } from '../terminal/screen.js'
import { editFile, fileOf, readText } from './edit-file.js'
import { contentOf, textIn } from './given-content.js'

/** Shows or changes one value of a file of a host. What may be a secret is not shown. */
export async function run(invocation: Invocation): Promise<number> {
  const [action = 'get', path, value, extra] = invocation.positionals
  if (!['get', 'set', 'unset'].includes(action))
    throw new UsageError(
      `config: expected get, set or unset, got ${action}${didYouMean(action, ['get', 'set', 'unset'])}`,
    )
  if (path === undefined && action !== 'get')
    throw new UsageError(`config ${action}: expected a path, such as caduceus.listen.port`)
  const isSet = action === 'set'
  if (isSet && value === undefined)
    throw new UsageError('config set: expected a value; - reads standard input')
  if (extra !== undefined || (!isSet && value !== undefined))
    throw new UsageError(`config ${action}: one word too many: a value with spaces stands in quotes`)
  if (action === 'get') return await get(path, invocation)
  const given = isSet ? await readValue(value ?? '') : undefined
  const { shown, file } = fileOf(invocation)
  let names: Path = []
  await editFile(invocation, (text) => {
    if (text === undefined) throw new UsageError(`${shown} is not there: caduceus add makes it`)
    names = pathOf(path ?? '', parseJsonc(text, file))
    if (given !== undefined) return withValue(text, file, names, given.value)
    const rest = withoutValue(text, file, names)
    if (rest === undefined) throw none(shown, names)
    return rest
  })
  const words = isSet ? 'is set in' : 'is taken out of'
  printAs(invocation, { path: names, file }, () => `${oneLine(names.join('.'))} ${words} ${oneLine(shown)}`)
  return exitCodes.ok
}

async function get(path: string | undefined, invocation: Invocation): Promise<number> {
  const { shown, file } = fileOf(invocation)
  const text = await readText(file)
  if (text === undefined) throw new UsageError(`${shown} is not there`)
  const whole = parseJsonc(text, file)
  const names = path === undefined ? [] : pathOf(path, whole)
  const value = names.length === 0 ? whole : valueAt(text, file, names)
  if (value === undefined) throw none(shown, names)
  const seen = withoutSecrets(value, names)
  printAs(invocation, seen, () => (typeof seen === 'string' ? seen : jsonText(seen, 2)))
  return exitCodes.ok
}

function none(shown: string, names: Path): UsageError {
  return new UsageError(`${shown} has no ${oneLine(names.join('.'))}`)
}

/**
 * JSON, or a text as it is; `-` is what standard input has, such as a secret that no list of processes shows.
 */
async function readValue(word: string): Promise<{ readonly value: unknown }> {
  if (word === '-') return { value: await fromInput() }
  try {
    return { value: JSON.parse(word) }
  } catch {
    return { value: word } // a text needs no quotes
  }
}

async function fromInput(): Promise<string> {
  // nothing is there that a signal would have to end in order
  const { signal } = new AbortController()
  return textIn(await contentOf('-', signal), 'standard input').replace(/\r?\n$/, '')
}

/**
 * The names of a path with dots, or of a JSON array of names. Names that are there come first, the longest
 * before others: those of servers may have dots.
 */
function pathOf(text: string, whole: unknown): Path {
  if (text.startsWith('[')) return namesOf(text)
  const names: string[] = []
  let [rest, value] = [text, whole]
  while (rest !== '') {
    const known = isObject(value) ? Object.keys(value) : []
    const there = known
      .filter((name) => name !== '' && (rest === name || rest.startsWith(`${name}.`)))
      .sort((one, other) => other.length - one.length)[0]
    const name = there ?? rest.split('.')[0] ?? ''
    names.push(name)
    value = there !== undefined && isObject(value) ? value[there] : undefined
    const isLast = rest.length === name.length
    rest = rest.slice(name.length + 1)
    if (name === '' || (rest === '' && !isLast)) throw new UsageError(`${text}: a name of the path is empty`)
  }
  if (names.length === 0) throw new UsageError('config: expected a path, got an empty text')
  return names
}

function namesOf(text: string): Path {
  try {
    const names: unknown = JSON.parse(text)
    const isPath = Array.isArray(names) && names.length > 0 && names.every((name) => typeof name === 'string')
    if (isPath) return names as string[]
  } catch {
    // told below
  }
  throw new UsageError(`${text}: expected a path with dots, or a JSON array of names`)
}
