import { isObject } from '../../protocol/wire/json.js'
import type { Parsed, Schema } from '../../protocol/schema/schema.js'
import type { CallToolResult } from '../../protocol/messages/types/tools.js'
import { show } from '../../runtime/base/errors.js'
import { built } from './builders.js'
import { ServerError } from '../base/errors.js'
import { json, toToolResult } from './results.js'

/**
 * What a tool with an `output` returned, as the protocol has it: a value with its JSON as text, or a whole
 * result whose structured content is the value; one that says the tool failed needs none. Throws, or rejects
 * with, BAD_RESULT for what its own schema does not take.
 */
export function toStructuredResult(
  tool: string,
  output: Schema,
  given: unknown,
): CallToolResult | Promise<CallToolResult> {
  const returned = built(given)
  if (!isWhole(returned)) {
    return fitting(tool, output.parse(returned), (value) => ({
      content: [json(value)],
      structuredContent: value,
    }))
  }
  const result = toToolResult(tool, returned)
  if (result.isError === true) return result
  return fitting(tool, output.parse(result.structuredContent), (value) => ({
    ...result,
    structuredContent: value,
  }))
}

/** A value could have a list of content, too, but hardly one of blocks. */
function isWhole(returned: unknown): returned is CallToolResult {
  if (!isObject(returned) || !Array.isArray(returned.content)) return false
  return returned.content.every((block) => isObject(block) && typeof block.type === 'string')
}

function fitting(
  tool: string,
  parsed: Parsed<unknown> | Promise<Parsed<unknown>>,
  toResult: (value: unknown) => CallToolResult,
): CallToolResult | Promise<CallToolResult> {
  if (parsed instanceof Promise) return parsed.then((late) => fitting(tool, late, toResult))
  if ('value' in parsed) return toResult(parsed.value)
  const problems = parsed.issues.map(({ path, message }) => `${path === '' ? 'value' : path}: ${message}`)
  const problem = `tool ${show(tool)} returned what its output does not allow: ${problems.join('; ')}`
  throw new ServerError('BAD_RESULT', problem, { data: { issues: parsed.issues } })
}
