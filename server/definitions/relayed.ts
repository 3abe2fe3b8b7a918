import type { JsonObject } from '../../protocol/wire/json.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { ToolContext } from '../context/context.js'

/** What a component is that a server behind a gateway has: lists show it as that server does. */
export interface Relayed {
  /** The name of that server here; undefined: of several, of which one has it. */
  readonly server: string | undefined
  /** Its name, uri or template as that server knows it. */
  readonly own: string
  /** Its entry in lists: as it came, but for its name. */
  readonly entry: JsonObject
  /** The gateways that it came through, the nearest first; absent: none that is known. */
  readonly through?: readonly string[] | undefined
  /** Makes the request there; its result goes out as it came. Rejects with McpError. */
  run(params: object, ctx: ToolContext): Promise<JsonObject>
  /** Whether nobody knows yet that it is there: then whoever reads it is told so. */
  readonly isUnsure?: boolean
  /** Suggests values for an argument; absent where that server does not. */
  complete?(params: object, ctx: ToolContext): Promise<JsonObject>
  /** Somebody who may see this resource wants to hear of its changes, until the returned function is called. */
  want?(peer: Peer, asker?: string): () => void
}
