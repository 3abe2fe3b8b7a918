import { durableObject, type ObjectStorage } from 'caduceus/fetch'
import { LocalEngine } from '../../server/engine/local-engine.js'
import type { SessionRecord } from '../../server/engine/session-store.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { systemWorld } from '../../runtime/time/world.js'

/** Does what a request names with an engine in the storage of the object, and answers with what was there. */
export class Store {
  readonly #storage: ObjectStorage
  #now = 1_000

  constructor({ storage }: { readonly storage: ObjectStorage }) {
    this.#storage = storage
  }

  async fetch(request: Request): Promise<Response> {
    const world = { ...systemWorld, date: () => this.#now }
    const limits = { maxSessions: 3, idleTimeout: 1_000 }
    const ctx = { world } as ActorContext
    const { open } = LocalEngine.parts(durableObject({ storage: this.#storage }))
    const { sessions, values, secrets } = await open(ctx, limits)
    const answers: unknown[] = []
    const count = (table: string): unknown =>
      this.#storage.sql.exec(`SELECT count(*) AS n FROM caduceus_${table}`).toArray()[0]?.n
    const does: Readonly<Record<string, (...given: never[]) => unknown>> = {
      wait: (ms: number) => {
        this.#now += ms
      },
      secrets: () => String(secrets),
      rows: () => [count('sessions'), count('values')],
      save: (id: string, version: number) => sessions.save({ id, version } as SessionRecord),
      load: async (id: string) => (await sessions.load(id))?.version ?? null,
      delete: (id: string) => sessions.delete(id),
      value: async (key: string) => (await values?.value(key)) ?? null,
      set: (key: string, was: string | null, text: string | null, ttl: number) =>
        values?.setValue(key, was ?? undefined, text ?? undefined, ttl),
    }
    for (const [what, ...given] of (await request.json()) as [string, ...never[]][]) {
      const answer = await does[what]?.(...given)
      if (answer !== undefined) answers.push(answer)
    }
    return Response.json(answers)
  }
}

export const worker = {
  fetch(
    request: Request,
    env: { STORE: { idFromName(name: string): unknown; get(id: unknown): { fetch: typeof fetch } } },
  ): Promise<Response> {
    return env.STORE.get(env.STORE.idFromName('all')).fetch(request)
  },
}
