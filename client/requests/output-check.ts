import { ProtocolError } from '../../protocol/wire/errors.js'
import type { CallToolResult } from '../../protocol/messages/tools.js'
import { ClientError } from '../base/errors.js'
import type { Holdings } from '../holdings/holdings.js'

/** Issues that an error names at most. */
const maxIssues = 10

/**
 * Checks structured content against the schema that the tool was listed with; a tool that failed has promised
 * nothing. Rejects with BAD_OUTPUT. A schema that cannot be used (beyond the limits, references to the
 * outside, an unknown dialect) is told as a warning, and nothing is checked.
 */
export async function checkOutput(name: string, result: CallToolResult, holdings: Holdings): Promise<void> {
  if (result.isError === true) return
  try {
    const schema = holdings.tools.outputOf(name)
    if (schema === undefined) return
    if (!Object.hasOwn(result, 'structuredContent'))
      throw badOutput(name, ['nothing, though the tool promises it'])
    const parsed = await schema.parse(result.structuredContent)
    if ('value' in parsed) return
    const issues = parsed.issues.slice(0, maxIssues).map(({ path, message }) => `${path} ${message}`.trim())
    throw badOutput(name, issues)
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    holdings.reports.warn('bad_schema', error.message, name)
  }
}

function badOutput(name: string, issues: readonly string[]): Error {
  const text = `tools/call ${name.slice(0, 100)}: structuredContent does not fit the listed outputSchema: ${issues.join('; ')}`
  return new ClientError('BAD_OUTPUT', text, { data: { sent: true, issues } })
}
