import { jsonText, oneLine, print, tell, tellLines } from './screen.js'
import { exitCodes, UsageError } from '../base/usage-error.js'

/**
 * Tells what went wrong: a line for people, or JSON. Resolves with the exit code. `canLogIn`: whether a login
 * would be another way. `isVerbose`: with the stacks of the error and its causes.
 */
export async function complain(
  error: unknown,
  asJson: boolean,
  { canLogIn = true, isVerbose = false }: { readonly canLogIn?: boolean; readonly isVerbose?: boolean } = {},
): Promise<number> {
  const { line, code, facts } = await explained(error, canLogIn)
  const message = oneLine(line)
  if (asJson) print(`${jsonText({ error: { message, ...facts } })}\n`)
  else tell(`caduceus: ${message}`)
  if (isVerbose) for (const stack of stacksOf(error)) tellLines(stack)
  return code
}

/** Where an error comes from, and its causes, as far as a person reads. */
function* stacksOf(error: unknown): Generator<string> {
  for (let at = error, left = 8; at instanceof Error && left > 0; at = at.cause, left--)
    yield `${left < 8 ? 'because of ' : ''}${at.stack ?? at.message}`
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
