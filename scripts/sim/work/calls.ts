import { CaduceusError, type CallOptions, type Client, McpError } from '../../../index.js'
import type { Act } from '../plan/plan.js'
import type { ClientHost } from './client-host.js'
import type { Answer } from './definition.js'
import type { Stage } from './stage.js'

/** Makes the call of an act, and takes down what comes of it. False if its client does not run. */
export function makeCall({ recorder }: Stage, { client, program, plan }: ClientHost, act: Act): boolean {
  if (client === undefined || program === undefined || program.phase === 'dead') return false
  const call = `call ${act.id}`
  const token = `t${act.id}`
  const { operation, timeout, patience } = act
  recorder.add({
    type: 'invoke',
    call,
    program: plan.name,
    client: plan.name,
    era: plan.era === 'handshake' ? 'session' : 'modern',
    operation,
    token,
    noted: !['list', 'ping', 'touch'].includes(operation),
    timeout,
    ...(expected(act, plan.name) !== undefined && { expected: expected(act, plan.name) as string }),
  })
  program.enter(() => {
    const gone = new AbortController()
    const timer =
      patience === undefined
        ? undefined
        : program.world.setTimeout(() => {
            recorder.add({ type: 'cancel', call })
            gone.abort()
          }, patience)
    const onProgress = ({
      progress,
      message = '',
    }: {
      readonly progress: number
      readonly message?: string
    }): void =>
      recorder.add({
        type: 'received',
        program: plan.name,
        client: plan.name,
        kind: 'progress',
        payload: message,
        broadcast: false,
        call,
        progress,
      })
    const options: CallOptions = { timeout, signal: gone.signal, ...(operation === 'slow' && { onProgress }) }
    const settle = (): void => program.world.clearTimeout(timer)
    perform(client, act, token, options).then(
      (answer) => {
        settle()
        recorder.add({ type: 'ok', call, ...answer })
      },
      (error: unknown) => {
        settle()
        recorder.add({ type: 'fail', call, ...failureOf(error) })
      },
    )
  })
  return true
}

async function perform(client: Client, act: Act, token: string, options: CallOptions): Promise<Answer> {
  const { operation } = act
  if (operation === 'list') {
    const { tools } = await client.listTools({ ...options, fresh: true })
    return { value: tools.map(({ name }) => name).join() }
  }
  if (operation === 'ping') {
    await client.ping(options)
    return {}
  }
  const steps = { steps: 3, ms: 40 }
  const args =
    operation === 'touch' ? { uri: `sim://${token}` } : operation === 'slow' ? { token, ...steps } : { token }
  const result = await client.callTool(operation, args, options)
  if (result.isError) return { value: `error: ${result.text}` }
  return JSON.parse(result.text) as Answer
}

function expected({ operation, id }: Act, client: string): string | undefined {
  if (operation === 'echo' || operation === 'slow') return `t${id}`
  if (operation === 'elicit') return `accept ${client}`
  return operation === 'touch' ? `sim://t${id}` : undefined
}

interface Failure {
  readonly code: string
  readonly sent: boolean
  readonly message: string
}

function failureOf(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof McpError) return { code: 'MCP', sent: true, message }
  if (!(error instanceof CaduceusError)) return { code: 'UNKNOWN', sent: true, message }
  const { sent } = error.data as { readonly sent?: unknown }
  return { code: error.code, sent: sent !== false, message }
}
