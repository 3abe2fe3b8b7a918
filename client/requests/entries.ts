import { type Method, methods } from '../../protocol/messages/methods.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { show } from '../../runtime/base/errors.js'

/** Where the entries of a list are. */
const fields: { readonly [M in Method]?: string } = Object.freeze({
  'tools/list': 'tools',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
  'prompts/list': 'prompts',
})

/** The result without entries that are not what the specification says; `tell` hears of each. */
export function withoutBadEntries(
  method: Method,
  result: JsonObject,
  tell: (problem: string) => void,
): JsonObject {
  const field = fields[method]
  const entries = field === undefined ? undefined : result[field]
  if (field === undefined || !Array.isArray(entries)) return result
  const good = entries.filter((entry, index) => {
    const problem = methods[method].result({ [field]: [entry] })
    if (problem === undefined) return true
    const path = problem.path.replace(`.${field}[0]`, `${field}[${index}]`)
    tell(`${method}: ${path}${nameOf(entry)}: expected ${problem.expected}, got ${problem.got}`)
    return false
  })
  return { ...result, [field]: good }
}

function nameOf(entry: unknown): string {
  if (!isObject(entry)) return ''
  const name = [entry.name, entry.uri, entry.uriTemplate].find((value) => typeof value === 'string')
  return name === undefined ? '' : ` of ${show(name)}`
}
