import { request } from 'node:http'
import { type AuthStorage, oauth, type OAuth, type SignIn } from '../../../index.js'
import type { JsonObject } from '../../../protocol/wire/json.js'
import { type ClientPlan, isOf, type Plan } from '../plan/plan.js'
import type { Stage } from '../cast/stage.js'
import type { Program } from '../world/program.js'
import { secretOf } from './issuer.js'

/** ms after which somebody looks at a client that has failed. */
export const helpTime = 5_000

/**
 * Whether somebody has signed in, and the answer of the authorization server broke: a code counts once, and
 * nobody is asked again for that, so that they have to come by themselves.
 */
export function wasInVain(reason: unknown): boolean {
  let error = reason
  while (error instanceof Error && !error.message.includes('somebody had signed in')) error = error.cause
  return error instanceof Error
}

/**
 * Whether somebody helps a client that its server will not let in. Where a clock was wrong, even a fresh token
 * is refused; where the page to sign in was away for too long, the sign-in has failed. People mend that.
 */
export function someoneHelps({ faults, issuers }: Plan, { server, principal, grant }: ClientPlan): boolean {
  if (principal === undefined) return false
  const isIssuer = (target: string): boolean => issuers.some(({ name }) => name === target)
  const away = faults
    .filter(({ verb, target }) => isIssuer(target) && verb !== 'rotate' && verb !== 'revoke')
    .reduce((sum, { lasts }) => sum + lasts, 0)
  return (
    (grant !== 'client_credentials' && away > signInTimeout / 2) ||
    faults.some(({ verb, target }) => verb === 'jump' && (isIssuer(target) || isOf(server, target)))
  )
}

/** ms. */
const signInTimeout = 30_000
const redirectUri = 'http://127.0.0.1:3999/callback'

/** A provider of tokens for the principal of a client, in its program. */
export function identityOf(stage: Stage, client: ClientPlan, program: Program): OAuth | undefined {
  const { principal, grant, vault } = client
  if (principal === undefined) return undefined
  // what is got for a program and for a person are not the same
  const storage = vault === true ? stage.vaults.of(`${principal} ${grant}`).storageOf(program) : undefined
  const common = { ...(storage !== undefined && { storage }), requestTimeout: 5_000, signInTimeout }
  const [login] = stage.plan.issuers
  const issuer = `http://${login?.address}:${login?.port}`
  if (grant === 'client_credentials')
    return oauth({ ...common, grant, client: { id: principal, secret: secretOf(principal), issuer } })
  return oauth({ ...common, signIn: personOf(stage, principal, program) })
}

/** Somebody who signs in as soon as the browser shows the page. */
function personOf({ recorder }: Stage, principal: string, program: Program): SignIn {
  return {
    begin: async () => ({
      redirectUri,
      async authorize(url, signal) {
        recorder.add({ type: 'signIn', program: program.name, principal })
        url.searchParams.set('login', principal)
        return program.enter(() => visit(url, signal))
      },
    }),
  }
}

/** What a browser does that is sent back at once. It asks again as long as the page is out of order. */
async function visit(url: URL, signal: AbortSignal): Promise<URLSearchParams> {
  while (true) {
    const location = await locationOf(url, signal).catch(() => undefined)
    if (location !== undefined) return new URL(location).searchParams
    if (signal.aborted) throw new Error('nobody could sign in')
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

function locationOf(url: URL, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const { hostname, port, pathname, search } = url
    const asked = request({ host: hostname, port, path: pathname + search, agent: false, signal })
    asked.on('response', (response) => {
      response.resume()
      resolve(response.headers.location)
    })
    asked.on('error', reject)
    asked.setTimeout(2_000, () => asked.destroy(new Error('no answer')))
    asked.end()
  })
}

/** Where principals keep their tokens. */
export class Vaults {
  readonly #vaults = new Map<string, Vault>()

  of(principal: string): Vault {
    const vault = this.#vaults.get(principal) ?? new Vault()
    this.#vaults.set(principal, vault)
    return vault
  }
}

/** Where the programs of one principal keep their tokens: it outlives them, as a file does. */
class Vault {
  readonly #values = new Map<string, JsonObject>()
  readonly #last = new Map<string, Promise<void>>()

  /** The storage as one program sees it; its locks end with it. */
  storageOf(program: Program): AuthStorage {
    return {
      read: async (key) => this.#values.get(key),
      write: async (key, value) => {
        if (value === undefined) this.#values.delete(key)
        else this.#values.set(key, value)
      },
      exclusive: async (key, work, signal) => {
        const before = this.#last.get(key) ?? Promise.resolve()
        let done = (): void => {}
        const mine = new Promise<void>((resolve) => {
          done = resolve
        })
        this.#last.set(
          key,
          before.then(() => mine),
        )
        program.onDeath(done)
        try {
          await aborted(before, signal)
          // none of its code runs any more
          if (program.phase === 'dead') return await new Promise(() => {})
          return await work()
        } finally {
          done()
        }
      },
    }
  }
}

function aborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const give = (): void => reject(signal.reason)
    if (signal.aborted) return give()
    signal.addEventListener('abort', give, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', give))
  })
}
