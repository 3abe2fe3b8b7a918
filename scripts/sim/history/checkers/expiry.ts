import type { Checker, Violation } from '../history.js'

/** What is in use does not expire: sessions whose clients are heard, claims and leases of nodes that live. */
export const expiry: Checker = (history, { idle }) =>
  history.flatMap((event, index) => {
    if (event.type === 'expired') {
      const { program, what, session, alive } = event
      const name = session === undefined ? `the ${what}` : `the ${what} of session ${session}`
      const message = `${program} lost ${name}, though it was well for ${Math.round(alive)} ms`
      return [violation(`${what} in use`, message, index)]
    }
    if (event.type !== 'released' || event.unused === undefined) return []
    const { program, session, unused } = event
    const bound = idle?.get(program)
    // half a millisecond is how clocks are read
    if (bound === undefined || unused >= bound - 0.5) return []
    const message = `session ${session} of ${program} ended ${Math.round(unused)} ms after its use, not ${bound}`
    return [violation('session in use', message, index)]
  })

function violation(kind: string, message: string, index: number): Violation {
  return { checker: 'expiry', kind, message, events: [index] }
}
