import type { Dialect, Lacks } from './dialect.js'
import { dialect20250618, lacks20250618 } from './2025-06-18.js'

const { fields } = lacks20250618

/** What 2025-03-26 lacks besides: structured results, elicitation, titles, most `_meta`, resource links. */
export const lacks20250326: Lacks = Object.freeze({
  fields: {
    ...fields,
    implementation: ['title', 'icons', 'description', 'websiteUrl'],
    clientCapabilities: ['elicitation', 'tasks'],
    tool: ['title', 'outputSchema', 'icons', 'execution', '_meta'],
    callToolResult: ['structuredContent'],
    resource: ['title', 'icons', '_meta'],
    resourceTemplate: ['title', 'icons', '_meta'],
    resourceContents: ['_meta'],
    prompt: ['title', 'icons', '_meta'],
    promptArgument: ['title'],
    promptReference: ['title'],
    completeParams: ['context'],
    content: ['_meta'],
    annotations: ['lastModified'],
    root: ['_meta'],
  },
  content: ['resource_link', ...lacks20250618.content],
  objectsOnly: true,
  contentLists: true,
  elicitation: ['form', 'url'],
  form: lacks20250618.form,
} as const)

/** Revision 2025-03-26: the first with Streamable HTTP; the only one with batches. */
export const dialect20250326: Dialect = Object.freeze({
  ...dialect20250618,
  revision: '2025-03-26',
  batches: true,
  versionHeader: false,
  requests: {
    server: dialect20250618.requests.server,
    client: dialect20250618.requests.client.filter((name) => name !== 'elicitation/create'),
  },
  lacks: lacks20250326,
} as const)
