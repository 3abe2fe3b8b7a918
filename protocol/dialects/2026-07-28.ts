import type { Dialect } from './dialect.js'
import { errorCodes } from '../wire/errors.js'

/**
 * Revision 2026-07-28: no handshake, no sessions. A server sends no requests in it: `requests.client` are the
 * questions that a result may hold.
 */
export const dialect20260728: Dialect = Object.freeze({
  revision: '2026-07-28',
  handshake: false,
  batches: false,
  versionHeader: true,
  primedStreams: false,
  requests: {
    server: [
      'server/discover',
      'tools/list',
      'tools/call',
      'resources/list',
      'resources/templates/list',
      'resources/read',
      'prompts/list',
      'prompts/get',
      'completion/complete',
      'subscriptions/listen',
      'skills/list',
      'skills/get',
      'resources/directory/read',
    ],
    client: ['sampling/createMessage', 'elicitation/create', 'roots/list'],
  },
  notifications: {
    server: ['notifications/cancelled'],
    client: [
      'notifications/cancelled',
      'notifications/progress',
      'notifications/message',
      'notifications/tools/list_changed',
      'notifications/prompts/list_changed',
      'notifications/resources/list_changed',
      'notifications/resources/updated',
      'notifications/subscriptions/acknowledged',
    ],
  },
  ungated: [],
  errors: {
    resourceNotFound: errorCodes.invalidParams,
    urlElicitationRequired: errorCodes.invalidRequest,
  },
  lacks: Object.freeze({
    fields: {
      clientCapabilities: ['tasks'],
      rootsCapability: ['listChanged'],
      serverCapabilities: ['tasks'],
      tool: ['execution'],
      callToolParams: ['task'],
      createMessageParams: ['task', '_meta'],
      elicitParams: ['task', '_meta'],
      elicitUrlParams: ['elicitationId', 'task', '_meta'],
    },
    results: ['server/discover', 'tools/list'],
    content: [],
    objectsOnly: false,
    contentLists: false,
    elicitation: [],
    form: [],
  } as const),
} as const)
