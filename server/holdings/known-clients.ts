import type { Implementation } from '../../protocol/messages/base.js'
import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'
import { deepFreeze } from '../../protocol/wire/json.js'
import { McpError } from '../../protocol/wire/errors.js'

/** What a session keeps of its client. */
interface ClientFacts {
  readonly client: Implementation
  readonly capabilities: ClientCapabilities
}

/** Characters of that, as JSON. */
const maxFacts = 64 * 1024
/** Those that are remembered, and characters of one: longer ones are some client's own. */
const most = 100
const longest = 2_048

/** Many sessions have clients that say the same of themselves: it is kept once, and cannot be changed. */
export class KnownClients {
  /** By their JSON, the newest last. */
  readonly #known = new Map<string, ClientFacts>()

  /** The same facts, perhaps of an earlier session. Throws McpError -32602 beyond 64 Ki characters. */
  same(facts: ClientFacts): ClientFacts {
    const text = JSON.stringify(facts)
    checkSize(text)
    if (text.length > longest) return facts
    const known = this.#known.get(text)
    this.#known.delete(text)
    this.#known.set(text, known ?? deepFreeze(facts))
    const [oldest] = this.#known.keys()
    if (this.#known.size > most && oldest !== undefined) this.#known.delete(oldest)
    return known ?? facts
  }
}

/** A session has it until its end, and a client may have many. */
function checkSize({ length }: string): void {
  if (length <= maxFacts) return
  const expected = `expected clientInfo and capabilities of ${maxFacts} characters at most, got ${length}`
  throw McpError.invalidParams(`params: ${expected}`)
}
