import type { Dialect } from './dialect.js'
import { dialect20250326, lacks20250326 } from './2025-03-26.js'

const { fields } = lacks20250326

/** Revision 2024-11-05: the first one, with HTTP+SSE. */
export const dialect20241105: Dialect = Object.freeze({
  ...dialect20250326,
  revision: '2024-11-05',
  batches: false,
  ungated: ['completion/complete'],
  lacks: Object.freeze({
    ...lacks20250326,
    fields: {
      ...fields,
      serverCapabilities: ['completions', 'tasks'],
      tool: ['title', 'annotations', 'outputSchema', 'icons', 'execution', '_meta'],
      progressParams: ['message'],
    },
    content: ['audio', ...lacks20250326.content],
  } as const),
} as const)
