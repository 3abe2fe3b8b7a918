// A server behind a gateway, and a client in front of it, each of a revision.
import { startClient } from 'caduceus/client'
import type { Revision } from 'caduceus/protocol'
import { gateway, type GatewayOptions, type ServerDefinition } from 'caduceus/server'
import { connect, type Connected, type ConnectOptions } from 'caduceus/testing'
import type { TestContext } from '../../support/suite.js'

export const revisions: readonly Revision[] = [
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
  '2026-07-28',
]

export interface Through {
  readonly upstream: Connected
  readonly below: Connected
}

/** The server is called `up`. */
export async function through(
  t: TestContext,
  definition: ServerDefinition,
  { up, down }: { readonly up: Revision; readonly down: Revision },
  {
    client = {},
    server = {},
    options = {},
  }: {
    readonly client?: ConnectOptions['client']
    readonly server?: ConnectOptions['server']
    readonly options?: GatewayOptions
  } = {},
): Promise<Through> {
  const upstream = await connect(definition, { server: { revisions: [up] }, client: { era: eraOf(up) } })
  t.after(() => upstream.close())
  const plan = gateway(
    {
      up: ({ answers }) =>
        startClient({ ...answers(), transport: upstream.transport, era: eraOf(up), logger: false }),
    },
    options,
  )
  const below = await connect(plan, {
    server: { revisions: [down], ...server },
    client: { era: eraOf(down), ...client },
  })
  t.after(() => below.close())
  return { upstream, below }
}

export function eraOf(revision: Revision): 'modern' | 'handshake' {
  return revision === '2026-07-28' ? 'modern' : 'handshake'
}
