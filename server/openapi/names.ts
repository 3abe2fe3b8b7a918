import { createHash } from 'node:crypto'

/** Characters of a name that all hosts take. */
const longest = 64

/** What a tool is called: the operation id, or else method and path; letters, digits, `_` and `-`. */
export function nameOf(operationId: string | undefined, method: string, path: string): string {
  const own = operationId === undefined ? '' : plain(operationId)
  if (own !== '') return short(own, operationId ?? '')
  const spelled = plain(`${method.toLowerCase()}_${path.replaceAll(/\{([^{}]*)\}/g, 'by_$1')}`)
  return short(spelled.replaceAll(/_{2,}/g, '_').replace(/_$/, ''), `${method} ${path}`)
}

/** The name of one that is called like one before it: with a mark of its own, whatever else there is. */
export function apart(name: string, key: string): string {
  return `${name.slice(0, longest - 9)}_${markOf(key)}`
}

/** The name of an argument: some hosts take no others. */
export function argumentOf(name: string): string {
  const own = plain(name.replaceAll(/[[\].]+/g, '_')).slice(0, longest)
  if (own === '') return 'value'
  return own === '__proto__' ? 'proto' : own
}

function plain(text: string): string {
  return text.replaceAll(/[^A-Za-z\d_-]+/g, '_').replaceAll(/^_(?=[^_])|(?<=[^_])_$/g, '')
}

function short(name: string, key: string): string {
  return name.length <= longest ? name : apart(name, key)
}

function markOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8)
}
