import { parseZoned } from '../schema/fields/calendar.js'
import { isObject, kindOf } from '../wire/json.js'
import { type Check, listOf, oneOf, optional, type Problem, shape, text } from './shape.js'
import { type Annotations, type Icon, role } from './base.js'

/**
 * Checks of outgoing results beyond those of incoming ones: other libraries refuse a whole answer for its
 * smallest fault.
 */
export const sentResults: { readonly [method: string]: Check } = {
  'tools/call': each('content', block),
  'resources/read': each('contents', contents),
  'prompts/get': each('messages', (message) => under('content', block, message)),
  'completion/complete': (result) =>
    under('completion', shape<{ total?: number }>({ total: optional(count) }), result),
  'tools/list': each('tools', shown),
  'resources/list': each('resources', shown),
  'resources/templates/list': each('resourceTemplates', shown),
  'prompts/list': each('prompts', shown),
}

/** The hints about a piece of content, as whoever receives them may check them. */
export const hints: Check = optional(
  shape<Annotations>({
    audience: optional(listOf(role)),
    priority: optional(weight),
    lastModified: optional(moment),
  }),
)

const icons = optional(
  listOf(
    shape<Pick<Icon, 'sizes' | 'theme'>>({
      sizes: optional(listOf(text)),
      theme: optional(oneOf('light', 'dark')),
    }),
  ),
)
const kinds = oneOf('text', 'image', 'audio', 'resource', 'resource_link')

function block(value: unknown): Problem | undefined {
  const problem = under('type', kinds, value) ?? shown(value)
  if (problem !== undefined || !isObject(value)) return problem
  if (value.type === 'resource') return under('resource', contents, value)
  return value.type === 'image' || value.type === 'audio' ? under('data', base64, value) : undefined
}

function contents(value: unknown): Problem | undefined {
  return isObject(value) && value.blob !== undefined ? under('blob', base64, value) : undefined
}

function shown(value: unknown): Problem | undefined {
  return under('annotations', hints, value) ?? under('icons', icons, value)
}

function base64(value: unknown): Problem | undefined {
  return typeof value === 'string' && value.length % 4 === 0 && /^[A-Za-z\d+/]*={0,2}$/.test(value)
    ? undefined
    : { path: '', expected: 'base64', got: typeof value === 'string' ? 'other text' : kindOf(value) }
}

function weight(value: unknown): Problem | undefined {
  return typeof value === 'number' && value >= 0 && value <= 1
    ? undefined
    : { path: '', expected: 'a number from 0 to 1', got: kindOf(value) }
}

function moment(value: unknown): Problem | undefined {
  if (typeof value === 'string' && parseZoned(value) !== undefined) return undefined
  return { path: '', expected: 'a moment such as 2025-01-12T15:00:58Z', got: kindOf(value) }
}

function count(value: unknown): Problem | undefined {
  return Number.isSafeInteger(value)
    ? undefined
    : { path: '', expected: 'a whole number', got: kindOf(value) }
}

function each(field: string, check: Check): Check {
  const all = listOf(check)
  return (value) => under(field, all, value)
}

function under(field: string, check: Check, value: unknown): Problem | undefined {
  const problem = check(isObject(value) ? value[field] : undefined)
  return problem === undefined ? undefined : { ...problem, path: `.${field}${problem.path}` }
}
