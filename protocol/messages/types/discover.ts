import type { CacheableResult } from './base.js'
import type { ServerCapabilities } from './capabilities.js'

/**
 * Result of `server/discover` (2026-07-28): what `initialize` told in older revisions; who the server is
 * stands in `_meta`.
 */
export interface DiscoverResult extends CacheableResult {
  /** The revisions that can be spoken without a handshake. */
  supportedVersions: string[]
  capabilities: ServerCapabilities
  /** How to use the server, for the model. */
  instructions?: string
}
