import { type AnswerOptions, type Client, startClient } from 'caduceus'
import type { EraOption } from 'caduceus/client'
import { messageOf } from '../../runtime/base/errors.js'
import { aboutServer, Unreachable } from '../base/failure.js'
import { type Invocation, textOf } from '../base/invocation.js'
import { terminalAnswers } from '../terminal/questions.js'
import { tellLines } from '../terminal/screen.js'
import { listenForStop } from '../terminal/stopping.js'
import { readTarget, type Target } from './target.js'
import { ask, isTerminal } from '../terminal/terminal.js'
import { UsageError } from '../base/usage-error.js'

/** What a command gets once it is connected. */
interface Connected {
  readonly client: Client
  /** Arguments of the command line besides the target. */
  readonly others: readonly string[]
  /** Aborts at Ctrl-C and the like. */
  readonly signal: AbortSignal
}

/** Connects to the target, runs `work` and disconnects. Rejects with Unreachable where nothing answers. */
export async function withTarget(
  invocation: Invocation,
  work: (connected: Connected) => Promise<number>,
): Promise<number> {
  const sampling = await samplingOf(invocation)
  const target = await readTarget(invocation)
  const stop = listenForStop()
  let client: Client | undefined
  try {
    const answers = { ...(isTerminal() && terminalAnswers(ask, tellLines)), ...sampling }
    client = startTarget(target, invocation, answers)
    await connected(client, stop.signal)
    return await work({ client, others: target.others, signal: stop.signal })
  } catch (error) {
    if (stop.code !== undefined) return stop.code
    throw error
  } finally {
    await client?.close()
    await target.end()
    stop.release()
  }
}

/** How requests for a model are answered; without `--sampling` they are not. Rejects with UsageError. */
export async function samplingOf(invocation: Invocation): Promise<AnswerOptions> {
  const line = textOf(invocation, 'sampling')
  if (line === undefined) return {}
  const { samplingBy } = await import('./sampling.js')
  return samplingBy(line, tellLines)
}

/** A client of the target, with the options of the command line. Throws UsageError. */
export function startTarget(
  { name, transport }: Target,
  invocation: Invocation,
  answers: AnswerOptions,
): Client {
  const era = textOf(invocation, 'era') ?? 'auto'
  if (!['auto', 'modern', 'handshake'].includes(era))
    throw new UsageError(`--era: expected auto, modern or handshake, got ${era}`)
  return startClient({
    ...answers,
    transport,
    name,
    era: era as EraOption,
    probeTimeout: 2_000,
    timeout: readTimeout(invocation),
    ...(invocation.values.verbose !== true && { logger: false as const }),
  })
}

/** Milliseconds. Throws UsageError. */
export function readTimeout(invocation: Invocation): number {
  const given = textOf(invocation, 'timeout') ?? '60000'
  const timeout = Number(given)
  if (Number.isFinite(timeout) && timeout > 0) return timeout
  throw new UsageError(`--timeout: expected milliseconds, got ${given}`)
}

/** Resolves once the client is ready; rejects at the first attempt that fails: a person would rather know. */
export async function connected(client: Client, signal: AbortSignal): Promise<void> {
  let undo = (): void => {}
  const failed = new Promise<never>((_, reject) => {
    undo = client.onState(({ phase, reason }) => {
      if (phase === 'disconnected' && reason !== undefined) reject(reason)
    })
  })
  try {
    await Promise.race([client.ready({ signal }), failed])
  } catch (error) {
    const problem = messageOf(error).replace(/^ready: /, '')
    throw new Unreachable(aboutServer(client.name, problem), { cause: error })
  } finally {
    undo()
  }
}
