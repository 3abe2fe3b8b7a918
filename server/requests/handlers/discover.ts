import type { Params } from '../../../protocol/messages/methods.js'
import type { Immediate } from '../../catalog/immediate.js'
import type { RouteScope } from '../work.js'

/** Answers `server/discover` with bytes that are made once (specification: 2026-07-28, discover). */
export function discover(_params: Params<'server/discover'>, { catalog, dialect }: RouteScope): Immediate {
  return catalog.discover(dialect)
}
