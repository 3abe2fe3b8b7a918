import type { ElicitUrlParams } from '../../protocol/messages/elicitation.js'
import type { Desk } from './answering.js'
import type { Holdings } from '../holdings/holdings.js'
import { answerRound, maxQuestions } from './rounds.js'

/**
 * Shows the pages that a server wants to be visited first (-32042) to the user, by the handler for addresses,
 * and waits until the server says of each that it is done: consent alone is no reason to ask again
 * (specification: 2025-11-25, elicitation). Resolves with whether all of that came within `left` ms; rejects
 * with UNANSWERED when the handler fails.
 */
export async function visitPages(
  method: string,
  pages: readonly ElicitUrlParams[],
  desk: Desk,
  left: number,
): Promise<boolean> {
  if (pages.length === 0 || pages.length > maxQuestions) return false
  const questions = pages.map((params, at) => [String(at), { method: 'elicitation/create', params }] as const)
  // before the user is asked: somebody may be quick
  const completion = awaitCompletion(pages, desk, left)
  try {
    const inputRequests = Object.fromEntries(questions)
    const answers = await answerRound(method, { resultType: 'input_required', inputRequests }, desk)
    const agreed = Object.values(answers ?? {}).every(
      (answer) => 'action' in answer && answer.action === 'accept',
    )
    return agreed && (await completion.done)
  } finally {
    completion.end()
  }
}

/** Ids of others, and those that were told before, are nothing to wait for. */
function awaitCompletion(
  pages: readonly ElicitUrlParams[],
  { holdings, clock, signal }: Desk,
  left: number,
): { readonly done: Promise<boolean>; end(): void } {
  const open = new Set<unknown>(pages.map(({ elicitationId }) => elicitationId))
  let settle: (isDone: boolean) => void = () => {}
  const done = new Promise<boolean>((resolve) => {
    settle = resolve
  })
  const giveUp = (): void => settle(false)
  const undo = [
    holdings.handle('notifications/elicitation/complete', ({ elicitationId }) => {
      open.delete(elicitationId)
      if (open.size === 0) settle(true)
    }),
    holdings.watch(() => {
      if (isOver(holdings)) giveUp()
    }),
  ]
  const timer = Number.isFinite(left) ? clock.setTimeout(giveUp, left) : undefined
  signal.addEventListener('abort', giveUp, { once: true })
  if (signal.aborted) giveUp()
  const end = (): void => {
    for (const one of undo) one()
    if (timer !== undefined) clock.clearTimeout(timer)
    signal.removeEventListener('abort', giveUp)
  }
  return { done, end }
}

function isOver({ state: { phase } }: Holdings): boolean {
  return phase === 'closed' || phase === 'failed'
}
