import type { JsonObject } from '../../protocol/wire/json.js'
import type { ToolContext } from '../context/context.js'

/** What a component is that a server behind a gateway has: lists show it as that server does. */
export interface Relayed {
  /** Its entry in lists: as it came, but for its name. */
  readonly entry: JsonObject
  /** Makes the request there; its result goes out as it came. Rejects with McpError. */
  run(params: object, ctx: ToolContext): Promise<JsonObject>
  /** Suggests values for an argument; absent where that server does not. */
  complete?(params: object, ctx: ToolContext): Promise<JsonObject>
  /** Somebody wants to hear of changes of this resource. */
  want?(uri: string): void
}
