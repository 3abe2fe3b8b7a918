import { durableObject, type ObjectStorage, serveFetch } from 'caduceus/fetch'
import { greeter } from './greeter.js'

/** One object has all sessions: their state, their open streams, their questions. */
export class Sessions {
  readonly handler

  constructor({ storage }: { readonly storage: ObjectStorage }) {
    this.handler = serveFetch(greeter, {
      allowedHosts: ['mcp.example.com'],
      lifetime: 'program',
      engine: durableObject({ storage }),
    })
  }

  fetch(request: Request): Promise<Response> {
    return this.handler.fetch(request)
  }
}

interface Env {
  readonly SESSIONS: { getByName(name: string): { fetch(request: Request): Promise<Response> } }
}

export default {
  // or one for each user, where something in front says who it is
  fetch: (request: Request, env: Env): Promise<Response> => env.SESSIONS.getByName('all').fetch(request),
}
