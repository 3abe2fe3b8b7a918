import { type Owner, OwnerToken, type StrayKind } from '../../runtime/faults/containment.js'
import { emit } from '../../runtime/faults/events.js'

/**
 * Answers for functions that were given by code without an owner: tells of their errors. Has no way back to
 * the client, which contexts of theirs may outlive.
 */
export class HandlerOwner implements Owner {
  /** The tree that the client lives in. */
  tree = 0
  readonly token: OwnerToken

  /** `name` is the client's. */
  constructor(name: string) {
    this.token = new OwnerToken(`${name}: handler`, this, null)
  }

  /** Tells of an error that stopped nothing. */
  fail(error: unknown, kind: StrayKind): void {
    const { tree, token } = this
    emit('stray', () => ({ tree, error, kind, owner: token.name, outcome: 'reported' }))
  }
}
