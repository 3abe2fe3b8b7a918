import type { Dialect } from '../dialect.js'

/** Revision 2025-11-25: the last one with a handshake. */
export const dialect20251125: Dialect = Object.freeze({
  revision: '2025-11-25',
  batches: false,
  versionHeader: true,
  requests: {
    server: ['initialize', 'ping', 'tools/list', 'tools/call'],
    client: ['ping'],
  },
  notifications: {
    server: ['notifications/initialized', 'notifications/cancelled', 'notifications/progress'],
    client: [
      'notifications/cancelled',
      'notifications/progress',
      'notifications/message',
      'notifications/tools/list_changed',
    ],
  },
} as const)
