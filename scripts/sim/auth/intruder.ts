import { type ClientRequest, request } from 'node:http'
import type { Random } from '../../soak/random.js'
import { type Intrusion, isOf, type ServerPlan } from '../plan/plan.js'
import type { Stage } from '../cast/stage.js'
import { chanceOf } from '../world/chance.js'
import { epoch, Program } from '../world/program.js'
import { resourceOf } from './guard.js'
import type { Issued, Issuer } from './issuer.js'

/** Somebody else's session, as the wire showed it. */
interface Seen {
  readonly server: ServerPlan
  readonly session: string
  readonly revision: string
  /** The last event that was told in it. */
  eventId: string | undefined
}

interface Attempt {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly token: string | undefined
  readonly seen: Seen
  readonly eventId?: string
}

/** ms that an answer is waited for. */
const patience = 3_000
/** ms by which an end is past: tolerance of servers, answers that they keep, and the way. */
const longAgo = 20_000
const own = 'mallory'

/**
 * Reads the wire, and tries what is not its own: sessions, events, tokens that are no good. It has an account
 * of its own at the authorization server.
 */
export class Intruder {
  readonly #stage: Stage
  readonly #issuer: Issuer
  readonly #chance: Random
  readonly #program: Program
  /** By session. */
  readonly #seen = new Map<string, Seen>()
  /** By who talks to whom. */
  readonly #talks = new Map<string, Seen>()

  constructor(stage: Stage, issuer: Issuer) {
    this.#stage = stage
    this.#issuer = issuer
    this.#chance = chanceOf(stage.plan.seed, 'intruder')
    this.#program = new Program(stage.simulator, own, '127.0.2.99')
    const servers = new Map(
      stage.plan.servers.flatMap((server) =>
        [server, ...(server.cluster?.nodes ?? [])].map(({ address }) => [address, server]),
      ),
    )
    stage.network.tap = (from, to, bytes) => {
      const server = servers.get(to)
      if (server !== undefined) this.#hearRequest(from, server, bytes)
      else if (servers.has(from)) this.#hearAnswer(`${to} ${from}`, bytes)
    }
  }

  /** Carries out one attempt, if there is something to try it with. */
  try({ id, kind }: Intrusion): void {
    const attempt = this.#plan(kind)
    if (attempt === undefined) return
    this.#program.enter(() => this.#send(`${kind} ${id}`, attempt))
  }

  #hearRequest(from: string, server: ServerPlan, bytes: Buffer): void {
    const head = bytes.toString('latin1', 0, 2_000)
    const [, session] = /^mcp-session-id: (\S+)/im.exec(head) ?? []
    const [, revision] = /^mcp-protocol-version: (\S+)/im.exec(head) ?? []
    if (session === undefined || revision === undefined || from === this.#program.address) return
    const seen = this.#seen.get(session) ?? { server, session, revision, eventId: undefined }
    this.#seen.set(session, seen)
    this.#talks.set(`${from} ${server.address}`, seen)
  }

  #hearAnswer(talk: string, bytes: Buffer): void {
    const seen = this.#talks.get(talk)
    const [, id] = /^id: (\S+)/m.exec(bytes.toString('latin1')) ?? []
    if (seen !== undefined && id !== undefined) seen.eventId = id
  }

  #plan(kind: Intrusion['kind']): Attempt | undefined {
    const seen = this.#chance.pick([...this.#seen.values()])
    if (seen === undefined) return undefined
    const resource = resourceOf(seen.server)
    const mine = (place = resource): string => this.#issuer.issue(own, place, 'own').token
    const post = (token: string | undefined): Attempt => ({ method: 'POST', token, seen })
    switch (kind) {
      case 'none':
        return post(undefined)
      case 'session':
        return post(mine())
      case 'end':
        return { method: 'DELETE', token: mine(), seen }
      case 'events': {
        const { eventId } = seen
        return eventId === undefined ? undefined : { method: 'GET', token: mine(), seen, eventId }
      }
      case 'stale':
        return this.#stolen(seen, (one) => this.#isStale(one, seen.server))
      case 'revoked': {
        const before = this.#stage.simulator.now - longAgo
        const isAsked = this.#stage.plan.issuers[0]?.tokens === 'opaque'
        return this.#stolen(seen, ({ revokedAt }) => isAsked && revokedAt !== undefined && revokedAt < before)
      }
      case 'forged':
        return post(this.#issuer.forge('ada', resource))
      case 'elsewhere':
        return post(mine('https://elsewhere.example/mcp'))
    }
  }

  #stolen(seen: Seen, isGood: (one: Issued) => boolean): Attempt | undefined {
    const resource = resourceOf(seen.server)
    const found = this.#chance.pick(
      this.#issuer.issued.filter((one) => one.resource === resource && isGood(one)),
    )
    return found && { method: 'POST', token: found.token, seen }
  }

  /** Whether it has expired long ago, also by a clock that is set back meanwhile. */
  #isStale({ expiresAt }: Issued, { name }: ServerPlan): boolean {
    const { plan, simulator } = this.#stage
    const jumps = plan.faults.some(({ verb, target }) => verb === 'jump' && isOf(name, target))
    return !jumps && expiresAt * 1_000 + longAgo < epoch + simulator.now
  }

  #send(what: string, { method, token, seen, eventId }: Attempt): void {
    const { server, session, revision } = seen
    const { recorder } = this.#stage
    const { address: host, port } = server
    const headers = {
      'mcp-session-id': session,
      'mcp-protocol-version': revision,
      accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
      ...(method === 'POST' && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(eventId !== undefined && { 'last-event-id': eventId }),
    }
    let isOver = false
    const tell = (asked: ClientRequest, status?: number, error?: number): void => {
      if (isOver) return
      isOver = true
      this.#program.cancel(late)
      recorder.add({
        type: 'tried',
        program: own,
        server: server.name,
        what,
        session,
        ...(status !== undefined && { status }),
        ...(error !== undefined && { error }),
      })
      asked.destroy()
    }
    const asked = request({ host, port, path: '/mcp', method, agent: false, headers })
    const late = this.#program.after(patience, 'gives up', () => tell(asked))
    asked.on('response', (response) => {
      const { statusCode = 0 } = response
      if (statusCode !== 200 || method !== 'POST') return tell(asked, statusCode)
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (more: string) => {
        text += more
        if (/"(?:result|method|code)"/.test(text)) tell(asked, statusCode, errorIn(text))
      })
      response.on('end', () => tell(asked, statusCode, errorIn(text)))
      response.on('error', () => tell(asked, statusCode))
    })
    asked.on('error', () => tell(asked))
    const params = { name: 'read', arguments: { token: `stolen ${what}` } }
    asked.end(
      method === 'POST' ? JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }) : undefined,
    )
  }
}

/** The code of the error that an answer is. */
function errorIn(text: string): number | undefined {
  const code = /"error":\{"code":(-?\d+)/.exec(text)?.[1]
  return code === undefined ? undefined : Number(code)
}
