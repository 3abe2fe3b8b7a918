import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Random } from '../../soak/random.js'
import type { IssuerPlan } from '../plan/plan.js'
import type { Stage } from '../cast/stage.js'
import { chanceOf, happens } from '../world/chance.js'
import { Program } from '../world/program.js'
import { Issuer, type IssuerAnswer } from './issuer.js'

/** A machine with an authorization server on it, in a program of its own. */
export class IssuerHost {
  readonly plan: IssuerPlan
  readonly issuer: Issuer
  readonly #stage: Stage
  readonly #chance: Random
  #incarnation = 0
  #program: Program | undefined
  /** It answers rightly from now on. */
  #isWell = false
  /** The client whose request is answered at the moment. */
  #asker = ''

  constructor(stage: Stage, plan: IssuerPlan) {
    this.#stage = stage
    this.plan = plan
    this.#chance = chanceOf(stage.plan.seed, `mishaps ${plan.name}`)
    const { name, address, port, lifetime, tokens, refreshes } = plan
    const { recorder, simulator } = stage
    this.issuer = new Issuer({
      url: `http://${address}:${port}`,
      chance: chanceOf(stage.plan.seed, `issuer ${name}`),
      lifetime,
      tokens,
      refreshes,
      date: () => (this.#program as Program).date(),
      now: () => simulator.now,
      granted: ({ kind, subject }) =>
        recorder.add({
          type: 'granted',
          program: name,
          principal: subject,
          client: this.#asker,
          grant: kind,
        }),
      betrayed: (subject) => recorder.add({ type: 'betrayed', program: name, principal: subject }),
    })
  }

  get program(): Program | undefined {
    return this.#program
  }

  get isUp(): boolean {
    return this.#program?.phase === 'running'
  }

  start(): void {
    const { simulator, network, recorder } = this.#stage
    const { name, address, port } = this.plan
    this.#incarnation += 1
    const program = new Program(simulator, name, address, this.#incarnation)
    this.#program = program
    network.light(address)
    recorder.add({ type: 'started', program: name })
    program.enter(() => {
      const server = createServer((request, response) => {
        this.#serve(request, response).catch(() => response.destroy())
      })
      server.listen({ host: address, port })
    })
  }

  /** kill -9, or the plug is pulled. */
  kill(isSilent: boolean): void {
    const program = this.#program
    if (program === undefined || program.phase === 'dead') return
    this.#stage.network.lose(program, isSilent)
    program.die()
    this.#stage.recorder.add({ type: 'died', program: this.plan.name })
  }

  /** It answers rightly from now on. */
  recover(): void {
    this.#isWell = true
  }

  /** New tokens are signed with another key, which is published a minute before. */
  rotate(): void {
    const { simulator } = this.#stage
    this.issuer.announceKey()
    simulator.after(60_000, simulator.elsewhere, `${this.plan.name} uses its new key`, () =>
      this.issuer.useKey(),
    )
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.issuer.url)
    let text = url.search.slice(1)
    if (request.method === 'POST') {
      text = ''
      for await (const chunk of request) text += String(chunk)
    }
    const isForm = request.headers['content-type'] !== 'application/json'
    const form = new Map(isForm ? new URLSearchParams(text) : [])
    const mishap = this.#mishap()
    // a refusal comes before anything is done, and a torn answer after it
    if (mishap === 'broken' || mishap === 'busy') this.#note(mishap)
    if (mishap === 'broken') return void response.writeHead(500).end('out of order')
    if (mishap === 'busy') return void response.writeHead(429, { 'retry-after': '2' }).end()
    const from = request.socket.remoteAddress
    this.#asker = this.#stage.plan.clients.find((client) => client.address === from)?.name ?? ''
    const answer = this.issuer.answer(url.pathname, form, request.headers.authorization)
    this.#stage.simulator.note(this.plan.name, `${request.method} ${url.pathname} ${answer.status}`)
    if (mishap !== undefined) this.#note(mishap)
    send(response, answer, mishap)
  }

  #mishap(): Mishap | undefined {
    if (this.#isWell || !happens(this.#chance, this.plan.mishaps)) return undefined
    return this.#chance.pick(['broken', 'busy', 'torn', 'cut'] as const)
  }

  #note(detail: Mishap): void {
    this.#stage.recorder.add({ type: 'fault', verb: 'fail', target: this.plan.name, detail })
  }
}

/** Half of a JSON text as if it were whole, or a connection that ends within it. */
type Mishap = 'broken' | 'busy' | 'torn' | 'cut'

function send(response: ServerResponse, { status, body, headers }: IssuerAnswer, mishap?: Mishap): void {
  const text = JSON.stringify(body ?? {})
  const half = text.slice(0, text.length / 2)
  const sent = mishap === 'torn' ? half : text
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(sent),
    ...headers,
  })
  if (mishap !== 'cut') return void response.end(sent)
  response.write(half)
  response.socket?.end()
}
