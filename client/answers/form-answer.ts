import { errorCodes, McpError, ProtocolError } from '../../protocol/wire/errors.js'
import { type Schema, toSchema } from '../../protocol/schema/schema.js'
import type {
  ElicitFormParams,
  ElicitResult,
  FormField,
  FormSchema,
} from '../../protocol/messages/elicitation.js'
import { ClientError } from '../base/errors.js'

/** Adds defaults to an answer (SEP-1034). Rejects with McpError -32602 (unusable form) or BAD_ANSWER. */
export async function completeForm(
  { requestedSchema }: ElicitFormParams,
  { action, content = {}, ...rest }: ElicitResult,
): Promise<ElicitResult> {
  if (action !== 'accept') return { ...rest, action }
  const schema = readForm(requestedSchema)
  const whole = { ...defaultsOf(requestedSchema), ...defined(content) }
  const parsed = await schema.parse(whole)
  if ('value' in parsed) return { ...rest, action, content: whole }
  const [problem] = parsed.issues.map(({ path, message }) => `${path} ${message}`.trim())
  throw new ClientError('BAD_ANSWER', `elicitation: the answer does not fit the form: ${problem}`)
}

function readForm(requested: FormSchema): Schema {
  try {
    return toSchema(requested as unknown as Record<string, unknown>)
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    throw new McpError(errorCodes.invalidParams, `params.requestedSchema: ${cause.message}`, { cause })
  }
}

function defaultsOf({ properties }: FormSchema): Record<string, NonNullable<FormField['default']>> {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, field]) =>
      field.default === undefined ? [] : [[name, field.default]],
    ),
  )
}

function defined<T>(content: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(content).filter(([, value]) => value !== undefined))
}
