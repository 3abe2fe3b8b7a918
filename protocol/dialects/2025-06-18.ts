import type { Dialect, Lacks } from './dialect.js'
import { errorCodes } from '../wire/errors.js'
import { dialect20251125 } from './2025-11-25.js'

/** What 2025-06-18 lacks: icons, elicitation by url and with newer fields, tools in sampling, tasks. */
export const lacks20250618: Lacks = Object.freeze({
  fields: {
    implementation: ['icons', 'description', 'websiteUrl'],
    clientCapabilities: ['tasks'],
    samplingCapability: ['context', 'tools'],
    serverCapabilities: ['tasks'],
    tool: ['icons', 'execution'],
    callToolParams: ['task'],
    resource: ['icons'],
    resourceTemplate: ['icons'],
    prompt: ['icons'],
    createMessageParams: ['tools', 'toolChoice', 'task'],
    samplingMessage: ['_meta'],
    elicitParams: ['mode', 'task'],
    formSchema: ['$schema'],
  },
  content: ['tool_use', 'tool_result'],
  objectsOnly: true,
  contentLists: true,
  elicitation: ['url'],
  form: ['titled_choice', 'several_choices', 'defaults'],
} as const)

/** Revision 2025-06-18: the first with structured results, elicitation, titles and the version header. */
export const dialect20250618: Dialect = Object.freeze({
  ...dialect20251125,
  revision: '2025-06-18',
  primedStreams: false,
  notifications: {
    server: dialect20251125.notifications.server,
    client: dialect20251125.notifications.client.filter(
      (name) => name !== 'notifications/elicitation/complete',
    ),
  },
  errors: { ...dialect20251125.errors, urlElicitationRequired: errorCodes.invalidRequest },
  lacks: lacks20250618,
} as const)
