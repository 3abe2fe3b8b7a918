import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { CaduceusError, messageOf } from '../../runtime/base/errors.js'
import type { Clock } from '../../runtime/time/clock.js'
import { waitWithin } from '../../runtime/time/wait.js'
import type { UpstreamVisit } from '../../transports/authorization/upstream-logins.js'
import type { Principal } from '../../transports/contract/principal.js'
import type { ToolContext } from '../context/context.js'
import type { Upstream } from '../definitions/upstreams.js'
import { AskError } from '../base/errors.js'
import type { GatewayLogins } from '../holdings/gateway-logins.js'

interface SignInCall {
  readonly server: string
  readonly principal: Principal
  readonly logins: GatewayLogins
  /** Whether its user was asked, and may not have come back. */
  readonly isAsked: boolean
  readonly call: () => Promise<JsonObject>
  /** The server wants a sign-in. */
  readonly refused: () => void
}

/** Milliseconds for the first connection with new tokens. */
const finishTime = 20_000
/** How often a call is made: tokens that came meanwhile count, and those of a sign-in. */
const mostTries = 3

/**
 * Makes a call, and asks its user to sign in where the server wants that; then it goes on. Where the client
 * shows no pages, the address is in the answer.
 */
export async function signedIn(
  ctx: ToolContext,
  method: string,
  { server, principal, logins, isAsked, call, refused }: SignInCall,
): Promise<JsonObject> {
  const opened = await logins.open()
  let visit = isAsked ? await opened.visitOf(server, principal) : undefined
  for (let tries = 1; ; tries += 1) {
    if (visit === undefined)
      try {
        return await call()
      } catch (error) {
        if (!needsSignIn(error)) throw error
        refused()
        visit = await opened.visitOf(server, principal)
        // without a page it may have been somebody's who has come back since
        if (tries >= mostTries) throw error
        if (visit === undefined) continue
      }
    const answer = await askToVisit(ctx, method, server, visit)
    if (answer !== undefined) return answer
    const hasSignedIn = await opened.isBack(visit, ctx.signal)
    ctx.elicitationComplete(visit.id)
    if (!hasSignedIn)
      throw failed(server, `${server}: the sign-in was given up, or has failed: call it again`)
    visit = undefined
  }
}

/** Undefined: the user goes there. Rejects with McpError where they do not. */
async function askToVisit(
  ctx: ToolContext,
  method: string,
  server: string,
  { id, url }: UpstreamVisit,
): Promise<JsonObject | undefined> {
  const message = `Sign in to ${server}`
  try {
    const question = { mode: 'url', message, url, elicitationId: id } as const
    const { action } = await ctx.elicit(`sign in ${server} ${id}`, question)
    if (action === 'accept') return undefined
  } catch (cause) {
    if (!(cause instanceof AskError) || cause.code !== 'MISSING_CAPABILITY') throw cause
    const text = `${message}: open ${url} in a browser, and call this again.`
    // what a tool says a model reads, and tells
    if (method === 'tools/call') return { content: [{ type: 'text', text }], isError: true }
    const elicitations = [{ mode: 'url', message, url, elicitationId: id }]
    throw new McpError(errorCodes.urlElicitationRequired, text, { cause, data: { elicitations } })
  }
  throw failed(server, `${server}: its user does not sign in`)
}

function failed(server: string, problem: string): McpError {
  const data = { code: 'SIGN_IN_NEEDED', server, retryable: false, sent: false }
  return new McpError(errorCodes.internalError, problem, { data })
}

/** Whether a person has to sign in to the server; the client wraps that more than once. */
export function needsSignIn(error: unknown): boolean {
  let each = error
  for (let depth = 0; depth < 5 && each instanceof CaduceusError; depth++) {
    if (each.code === 'SIGN_IN_NEEDED') return true
    each = each.cause
  }
  return false
}

/** Why a client cannot be ready; undefined once it is. */
export async function whetherReady(client: Upstream, clock: Clock): Promise<string | undefined> {
  const late = (): string => `it was not ready within ${finishTime} ms`
  let undo = (): void => {}
  try {
    return await waitWithin<string | undefined>({ clock, ms: finishTime, late }, (resolve) => {
      const look = (): void => {
        const { phase, reason } = client.state
        if (phase === 'ready') resolve(undefined)
        else if (phase === 'failed' || phase === 'closed') resolve(reason ? messageOf(reason) : phase)
      }
      undo = client.onState(look)
      look()
      return undefined
    })
  } finally {
    undo()
  }
}
