import { jsonText, oneLine, print, tell } from './screen.js'
import { exitCodes, UsageError } from '../base/usage-error.js'

/**
 * Tells what went wrong: a line for people, or JSON. Resolves with the exit code. `canLogIn`: whether a login
 * would be another way.
 */
export async function complain(error: unknown, asJson: boolean, canLogIn = true): Promise<number> {
  const { line, code, facts } = await explained(error, canLogIn)
  const message = oneLine(line)
  if (asJson) print(`${jsonText({ error: { message, ...facts } })}\n`)
  else tell(`caduceus: ${message}`)
  return code
}

async function explained(error: unknown, canLogIn: boolean) {
  if (error instanceof UsageError)
    return {
      ...{ line: error.message, code: exitCodes.usage },
      facts: { code: 'BAD_OPTION', retryable: false },
    }
  const { explain } = await import('../base/failure.js')
  return explain(error, canLogIn)
}
