import { systemWorld } from 'caduceus/runtime'
import { TransportError } from 'caduceus/transports'
import type { AdapterPayload } from 'oidc-provider'
import { type AdapterInput, ValueAdapter } from '../../../transports/authorization/adapter.js'
import { RefreshChains, shortestUse } from '../../../transports/authorization/refresh-chains.js'
import { type RefreshId, TokenIds } from '../../../transports/authorization/token-ids.js'
import type { Values } from '../../../transports/contract/values.js'
import { keptValues } from './_values.js'

/** Seconds that a token of these tests is good. */
export const lifetime = 30 * 86_400
/** How a token was refused: `used`: the grant has ended. */
export type Refused = 'used' | 'unknown' | 'gone on' | 'away'

/** One node, which does for a renewal what the library does. */
export interface RenewingNode {
  readonly chains: RefreshChains
  /** The first token of a new chain. */
  begin(): Promise<string>
  /** The next token; rejects with how it was refused. */
  renew(token: string): Promise<string>
}

/** A grant whose tokens are renewed by nodes with clocks of their own; their engine answers as `turn` does. */
export async function grantOfNodes(turn: () => Promise<void> = async () => {}) {
  const time = { ms: 1_700_000_000_000 }
  const { values: quick, texts, at } = keptValues(() => time.ms)
  const asked = { times: 0 }
  const behind = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    asked.times += 1
    await turn()
    const answer = await ask()
    await turn()
    return answer
  }
  const values: Values = {
    get: (key) => behind(() => quick.get(key)),
    set: (...given) => behind(() => quick.set(...given)),
  }
  const errors = {
    usedAlready: () => refusal('gone on'),
    unavailable: () => refusal('away'),
    atLast: () => {},
  }
  const ids = new TokenIds('key', systemWorld)
  await new ValueAdapter('Grant', { values: quick, world: systemWorld, ...errors }).upsert(
    'g',
    { kind: 'Grant' } as AdapterPayload,
    365 * 86_400,
  )

  /** `skew`: the ms that its clock is ahead. */
  const node = (skew = 0): RenewingNode => {
    const date = (): number => time.ms + skew
    const seconds = (): number => Math.floor(date() / 1_000)
    const world = { ...systemWorld, date, setTimeout: (fn: () => void) => systemWorld.setTimeout(fn, 0) }
    const open = (atLast: AdapterInput['atLast']): RefreshChains =>
      new RefreshChains({ ...errors, values, world, ids, atLast })
    const chains = open(() => {})
    const save = async ({ chain, rotations }: RefreshId): Promise<string> => {
      const token = ids.refreshToken({ chain, rotations })
      const own = {
        kind: 'RefreshToken',
        grantId: 'g',
        jti: token,
        iat: seconds(),
        exp: seconds() + lifetime,
      }
      let atLast = async (): Promise<void> => {}
      const payload = { ...own, nonce: chain, rotations } as AdapterPayload
      await open((act) => {
        atLast = act
      }).upsert(token, payload, lifetime)
      await atLast()
      return token
    }
    return {
      chains,
      begin: () => save({ chain: ids.newChain(), rotations: 0 }),
      async renew(token) {
        const found = await chains.find(token)
        if (found === undefined) throw refusal('unknown')
        if (found.consumed !== undefined) {
          await chains.revokeByGrantId('g')
          throw refusal('used')
        }
        const { rotations = 0, iat = 0, nonce = '' } = found
        if (rotations > 0 && date() - iat * 1_000 < shortestUse) return token
        await chains.consume()
        return save({ chain: nonce, rotations: rotations + 1 })
      },
    }
  }
  return { time, texts, at, asked, ids, node, values: quick, isThere: () => at('Grant g') !== undefined }
}

/** How a renewal was refused; undefined: it was not. */
export async function refusedAs(renewal: Promise<unknown>): Promise<string | undefined> {
  return renewal.then(
    () => undefined,
    ({ message }: Error) => message,
  )
}

/** The error of an engine that is away. */
export function away(): Error {
  return new TransportError('CLUSTER_UNAVAILABLE', 'it is away', { retryable: true })
}

function refusal(as: Refused): Error {
  return new Error(as)
}
