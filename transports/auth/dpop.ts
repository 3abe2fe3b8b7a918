import { lazy } from '../../runtime/faults/load.js'
import {
  badOption,
  orElse,
  type Read,
  readFlag,
  readMs,
  readOptions,
  type ReadWith,
} from '../base/read-option.js'
import type { Principal } from '../contract/principal.js'
import type { ProofCheck } from './proof-check.js'

const loadCheck = /* @__PURE__ */ lazy(
  '../../transports/auth/proof-check.js',
  () => import('./proof-check.js'),
)

/** A proof that is good, for a store that all processes share. */
export interface SeenProof {
  /** Of its key and its `jti`: 43 letters, digits, `-` and `_`. */
  readonly id: string
  /**
   * Milliseconds from now on after which it is refused for its age, and may be forgotten: also where clocks of
   * processes differ by up to 20 s.
   */
  readonly lifetime: number
  /** Whose token it came with. */
  readonly principal: Principal
}

/** How proofs that a sender has the key of its token are checked (RFC 9449). */
export interface DPoPOptions {
  /** Whether bearer tokens are refused, so that all tokens have to be bound to a key. Default false. */
  readonly required?: boolean
  /**
   * Algorithms of proofs. Default: all that can be chosen, `ES256 ES384 ES512 EdDSA Ed25519 PS256 RS256`.
   */
  readonly algorithms?: readonly string[]
  /** Milliseconds that the time of a proof (`iat`) may differ from ours. Default 300,000. */
  readonly window?: number
  /**
   * Given: a proof has to have a nonce that we made with the first of these secrets within `window`; those of
   * the others are taken, too. The same on all processes, each of 32 characters or more. Default: no nonces.
   */
  readonly nonceKeys?: readonly string[]
  /**
   * Says whether a proof has been seen before, and notes it: for several processes, which know of their own
   * proofs only. A rejection is answered 500, or 429 for a TransportError CLIENT_LIMIT. Default: 100,000 proofs
   * are remembered in this process.
   */
  readonly seen?: (proof: SeenProof) => boolean | Promise<boolean>
}

export type DPoPSettings = ReadWith<typeof readers>

/** Checks proofs for one listener. */
export class ProofGate {
  readonly settings: DPoPSettings
  #check: ProofCheck | undefined

  constructor(settings: DPoPSettings) {
    this.settings = settings
  }

  /** Called before a listener accepts, or with the first proof. */
  async prepare(): Promise<ProofCheck> {
    const { createProofCheck } = await loadCheck()
    this.#check ??= createProofCheck(this.settings)
    return this.#check
  }

  check(): ProofCheck | Promise<ProofCheck> {
    return this.#check ?? this.prepare()
  }
}

/** Public-key algorithms only: `none` and shared secrets prove nothing (RFC 9449, section 4.3). */
const proofAlgorithms: readonly string[] = [
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'PS256', 'RS256'],
]

export const readDPoP: Read<ProofGate | undefined> = (value, field) => {
  if (value === false) return undefined
  return new ProofGate(readOptions(value === true ? {} : value, readers, field))
}

const readAlgorithms: Read<readonly string[]> = (value, field) => {
  if (!Array.isArray(value) || value.length === 0) throw badOption(field, 'an array of algorithms', value)
  const other = value.find((name) => !proofAlgorithms.includes(name))
  if (other !== undefined) throw badOption(field, `algorithms among ${proofAlgorithms.join(', ')}`, other)
  return Object.freeze([...value])
}

/** A secret is never shown. */
const readKeys: Read<readonly string[]> = (value, field) => {
  const isGood =
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((key) => typeof key === 'string' && key.length >= 32)
  if (isGood) return Object.freeze([...value])
  throw badOption(field, 'an array of secrets of 32 characters or more', typeof value)
}

const readSeen: Read<NonNullable<DPoPOptions['seen']>> = (value, field) => {
  if (typeof value === 'function') return value as NonNullable<DPoPOptions['seen']>
  throw badOption(field, 'a function', value)
}

const readers = {
  required: (value: unknown, field: string) => readFlag(value, field, false),
  algorithms: orElse(readAlgorithms, proofAlgorithms),
  window: orElse(readMs, 300_000),
  nonceKeys: orElse(readKeys, undefined),
  seen: orElse(readSeen, undefined),
}
