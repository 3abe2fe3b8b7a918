import { defineTool, type ServerOptions, type ToolContext } from 'caduceus/server'
import type { TreeWideOptions } from '../_servers.js'
import { heard } from '../../support/heard.js'
import type { TestContext } from '../../support/suite.js'
import type { Wire } from '../_client.js'
import { type PortServer, type SendHow, startPort } from '../exchanges/_exchanges.js'
import { able, fill, requestsOf, stateOf } from '../exchanges/_rounds.js'
import { ask } from '../exchanges/_rounds-definition.js'

/** A server with one tool that does what the test says, and ways to call it and to answer what it asks. */
export async function startAsker(
  t: TestContext,
  run: (ctx: ToolContext) => unknown,
  options: Partial<ServerOptions> & TreeWideOptions & { toolTimeout?: number } = {},
) {
  const { toolTimeout, ...rest } = options
  const contexts = heard<ToolContext>()
  const tool = defineTool({
    name: 'ask',
    ...(toolTimeout !== undefined && { timeout: toolTimeout }),
    async run(_args, ctx) {
      contexts.add(ctx)
      return JSON.stringify(await run(ctx))
    },
  })
  const port = await startPort(t, { tools: [tool] }, rest)
  return { ...port, contexts, ...callsOf(port) }
}

function callsOf({ send }: Pick<PortServer, 'send'>) {
  const call = (params: object = {}, how: SendHow = {}) =>
    send('tools/call', { name: 'ask', ...params }, { clientCapabilities: able, ...how })
  /** Answers everything that was asked. */
  const retry = (asked: Wire, how: SendHow = {}) => call(retryOf(asked), how)
  return { call, retry }
}

function retryOf(asked: Wire) {
  return { requestState: stateOf(asked), inputResponses: fill(requestsOf(asked) ?? {}, 1) }
}

/** The answer; rejects when there is none. */
export async function wireOf(sent: { wire: Promise<Wire | undefined> }): Promise<Wire> {
  const wire = await sent.wire
  if (wire === undefined) throw new Error('expected an answer')
  return wire
}

/** The text of a result, or the code of an error. */
export function textOf({ result, error }: Wire): string | undefined {
  return error === undefined ? result?.content?.[0]?.text : `${error.code}`
}

/** Asks for a name. */
export const who = (ctx: ToolContext) => ctx.elicit('who', ask('name'))
