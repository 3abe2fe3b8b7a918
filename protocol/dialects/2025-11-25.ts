import type { Dialect } from './dialect.js'
import { errorCodes } from '../wire/errors.js'

/** Revision 2025-11-25: the last one with a handshake. */
export const dialect20251125: Dialect = Object.freeze({
  revision: '2025-11-25',
  handshake: true,
  batches: false,
  versionHeader: true,
  primedStreams: true,
  requests: {
    server: [
      'initialize',
      'ping',
      'tools/list',
      'tools/call',
      'resources/list',
      'resources/templates/list',
      'resources/read',
      'resources/subscribe',
      'resources/unsubscribe',
      'prompts/list',
      'prompts/get',
      'completion/complete',
      'logging/setLevel',
      'skills/list',
      'skills/get',
      'resources/directory/read',
    ],
    client: ['ping', 'sampling/createMessage', 'elicitation/create', 'roots/list'],
  },
  notifications: {
    server: [
      'notifications/initialized',
      'notifications/cancelled',
      'notifications/progress',
      'notifications/roots/list_changed',
    ],
    client: [
      'notifications/cancelled',
      'notifications/progress',
      'notifications/message',
      'notifications/tools/list_changed',
      'notifications/prompts/list_changed',
      'notifications/resources/list_changed',
      'notifications/resources/updated',
      'notifications/elicitation/complete',
    ],
  },
  ungated: [],
  errors: {
    resourceNotFound: errorCodes.resourceNotFound,
    urlElicitationRequired: errorCodes.urlElicitationRequired,
  },
  lacks: Object.freeze({
    fields: {},
    results: ['tools/list', 'tools/call'],
    requests: [],
    content: [],
    objectsOnly: true,
    contentLists: false,
    elicitation: [],
    form: [],
  } as const),
} as const)
