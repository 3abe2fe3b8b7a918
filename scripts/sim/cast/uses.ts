import type {
  Binding,
  MessageSink,
  ServerPort,
  ServerTransport,
} from '../../../transports/contract/contract.js'

interface Use {
  /** When its client was heard last, or served. */
  last: number
  /** What goes on for it: messages that are being answered, and readers. */
  open: number
}

/** When the sessions of a server are used: seen between its listener and the rest. */
export class Uses {
  readonly #now: () => number
  readonly #uses = new Map<string, Use>()
  /** Sessions that somebody has asked to end, here or on another node. */
  readonly #farewells: Set<string>

  constructor(now: () => number, farewells: Set<string>) {
    this.#now = now
    this.#farewells = farewells
  }

  /** The process of a session ends, and its readers with it: ms for which it was not used, if somebody knows. */
  end(session: string): number | undefined {
    const use = this.#uses.get(session)
    this.#uses.delete(session)
    if (use === undefined || this.#farewells.has(session)) return undefined
    return use.open > 0 ? 0 : this.#now() - use.last
  }

  /** The program has died: nothing goes on for its sessions any more. */
  forget(): void {
    this.#uses.clear()
  }

  /** The same transport; what it gives its server is taken down. */
  watch(transport: ServerTransport): ServerTransport {
    const bind: ServerTransport['bind'] = async (scope, previous) =>
      this.#watchBinding(await transport.bind(scope, previous))
    return { ...transport, bind }
  }

  #watchBinding(binding: Binding): Binding {
    const start: Binding['start'] = (ctx, server, scope) => binding.start(ctx, this.#watchPort(server), scope)
    return override(binding, { start })
  }

  #watchPort(port: ServerPort): ServerPort {
    const receive: ServerPort['receive'] = (inbound) => {
      const session = inbound.peer.headers['mcp-session-id']
      if (typeof session !== 'string') return port.receive(inbound)
      const done = this.#begin(session)
      const end: MessageSink['end'] = (outcome) => {
        // who is refused has not used it: it may be somebody else's
        done(outcome.type !== 'refused' && outcome.type !== 'failed')
        inbound.sink.end(outcome)
      }
      port.receive({ ...inbound, sink: override(inbound.sink, { end }) })
    }
    const subscribe: ServerPort['subscribe'] = async (session, sink, peer) => {
      const done = this.#begin(session)
      try {
        const detach = await port.subscribe(session, sink, peer)
        return () => {
          done(true)
          detach()
        }
      } catch (error) {
        done(false)
        throw error
      }
    }
    const close: ServerPort['close'] = (session, peer) => {
      this.#farewells.add(session)
      return port.close(session, peer)
    }
    return override(port, { receive, subscribe, close })
  }

  #begin(session: string): (wasUsed: boolean) => void {
    const use = this.#uses.get(session) ?? { last: Number.NEGATIVE_INFINITY, open: 0 }
    this.#uses.set(session, use)
    use.open += 1
    let isOver = false
    return (wasUsed) => {
      if (isOver) return
      isOver = true
      use.open -= 1
      if (wasUsed) use.last = this.#now()
    }
  }
}

/** The object with other methods: it may be frozen, or of a class with private fields. */
function override<T extends object>(object: T, methods: Partial<Record<keyof T, unknown>>): T {
  return new Proxy(Object.create(null) as T, {
    has: (_target, name) => Reflect.has(object, name),
    get(_target, name) {
      if (Object.hasOwn(methods, name)) return methods[name as keyof T]
      const value: unknown = Reflect.get(object, name, object)
      return typeof value === 'function' ? value.bind(object) : value
    },
  })
}
