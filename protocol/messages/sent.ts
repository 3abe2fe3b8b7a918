import { parseZoned } from '../schema/fields/calendar.js'
import { kindOf } from '../wire/json.js'
import { type Annotations, type Icon, role } from './base.js'
import { type Check, chosen, kind, listOf, oneOf, optional, type Problem, shape, text } from './shape.js'

/** Some fields of a value; the others were checked as those of incoming results are. */
const part = shape<Record<string, unknown>>

const weight = kind<number>(
  'a number from 0 to 1',
  (value) => typeof value === 'number' && value >= 0 && value <= 1,
)
const moment = kind<string>(
  'a moment such as 2025-01-12T15:00:58Z',
  (value) => typeof value === 'string' && parseZoned(value) !== undefined,
)
const annotations = optional(
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
const shown = { annotations, icons }
const blockFields = { type: oneOf('text', 'image', 'audio', 'resource', 'resource_link'), ...shown }
const contents = part({ blob: optional(base64) })
const withData = part({ ...blockFields, data: base64 })
const withResource = part({ ...blockFields, resource: contents })
const plain = part(blockFields)
const block = chosen<unknown>(({ type }) => {
  if (type === 'resource') return withResource
  return type === 'image' || type === 'audio' ? withData : plain
})
const total = kind<number>('a whole number', Number.isSafeInteger)

/**
 * Checks of outgoing results beyond those of incoming ones: other libraries refuse a whole answer for its
 * smallest fault.
 */
export const sentResults: { readonly [method: string]: Check } = {
  'tools/call': part({ content: listOf(block) }),
  'resources/read': part({ contents: listOf(contents) }),
  'prompts/get': part({ messages: listOf(part({ content: block })) }),
  'completion/complete': part({ completion: part({ total: optional(total) }) }),
  'tools/list': part({ tools: listOf(part(shown)) }),
  'resources/list': part({ resources: listOf(part(shown)) }),
  'resources/templates/list': part({ resourceTemplates: listOf(part(shown)) }),
  'prompts/list': part({ prompts: listOf(part(shown)) }),
}

function base64(value: unknown): Problem | undefined {
  if (typeof value === 'string' && value.length % 4 === 0 && /^[A-Za-z\d+/]*={0,2}$/.test(value))
    return undefined
  return { path: '', expected: 'base64', got: typeof value === 'string' ? 'other text' : kindOf(value) }
}
