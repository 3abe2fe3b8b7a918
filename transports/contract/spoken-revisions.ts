import type { Revision } from '../../protocol/dialects/dialect.js'
import { allRevisions, handshakeRevisions } from '../../protocol/dialects/versions.js'
import type { ServerPort } from './contract.js'

/** The revisions that a server speaks through its port. */
export function spokenBy({ revisions, exchange }: ServerPort): readonly Revision[] {
  return revisions ?? (exchange === undefined ? handshakeRevisions : allRevisions)
}
