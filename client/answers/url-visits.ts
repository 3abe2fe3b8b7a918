import type { ElicitUrlParams } from '../../protocol/messages/elicitation.js'
import { waitWithin } from '../../runtime/time/wait.js'
import type { Desk } from './answering.js'
import { answerRound, maxQuestions } from './rounds.js'

/**
 * Shows the pages of a refusal (-32042), and waits until the server says that each is done; consent is not
 * enough (specification: 2025-11-25, elicitation). False: not within `left` ms. Rejects with UNANSWERED.
 */
export async function visitPages(
  method: string,
  pages: readonly ElicitUrlParams[],
  desk: Desk,
  left: number,
): Promise<boolean> {
  if (pages.length === 0 || pages.length > maxQuestions) return false
  const questions = pages.map((params, at) => [String(at), { method: 'elicitation/create', params }] as const)
  const controller = new AbortController()
  const signal = AbortSignal.any([desk.signal, controller.signal])
  // before the user is asked, who may be quick
  const done = allDone(pages, { ...desk, signal }, left)
  try {
    const inputRequests = Object.fromEntries(questions)
    const answers = await answerRound(method, { resultType: 'input_required', inputRequests }, desk)
    const agreed = Object.values(answers ?? {}).every(
      (answer) => 'action' in answer && answer.action === 'accept',
    )
    return agreed && (await done)
  } finally {
    controller.abort()
  }
}

/** Awaits `notifications/elicitation/complete` of each page; false when time, or the client, is over. */
function allDone(
  pages: readonly ElicitUrlParams[],
  { holdings, clock, signal }: Desk,
  left: number,
): Promise<boolean> {
  const open = new Set<unknown>(pages.map(({ elicitationId }) => elicitationId))
  const giveUp = (): boolean => false
  return waitWithin<boolean>({ clock, ms: left, late: giveUp, signal, aborted: giveUp }, (resolve) => {
    const unhandle = holdings.handle('notifications/elicitation/complete', ({ elicitationId }) => {
      open.delete(elicitationId)
      if (open.size === 0) resolve(true)
    })
    const unwatch = holdings.watch(({ phase }) => {
      if (phase === 'closed' || phase === 'failed') resolve(false)
    })
    return () => {
      unhandle()
      unwatch()
    }
  })
}
