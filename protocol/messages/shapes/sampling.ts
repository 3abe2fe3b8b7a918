import { isObject } from '../../wire/json.js'
import {
  finite,
  flag,
  listOf,
  oneOf,
  optional,
  type Problem,
  record,
  type Shape,
  shape,
  text,
} from '../shape.js'
import type {
  CreateMessageParams,
  CreateMessageResult,
  SamplingContent,
  SamplingMessage,
  ToolResultContent,
  ToolUseContent,
} from '../types/sampling.js'
import { otherFields, requestFields, role } from './base.js'
import { content } from './content.js'
import { tool } from './tools.js'

const toolUse = shape<ToolUseContent>({ type: text, id: text, name: text, input: record, ...otherFields })
const toolResult = shape<ToolResultContent>({
  type: text,
  toolUseId: text,
  content: listOf(content),
  structuredContent: optional(record),
  isError: optional(flag),
  ...otherFields,
})
const blocks = listOf(block)
const conversation = listOf(shape<SamplingMessage>({ role, content: oneOrMore, ...otherFields }))

/**
 * Params of `sampling/createMessage`; tool uses and results have to match (specification: 2025-11-25,
 * sampling).
 */
export const createMessageParams: Shape<CreateMessageParams> = shape<CreateMessageParams>({
  messages,
  maxTokens: finite,
  modelPreferences: optional(record),
  systemPrompt: optional(text),
  includeContext: optional(oneOf('none', 'thisServer', 'allServers')),
  temperature: optional(finite),
  stopSequences: optional(listOf(text)),
  metadata: optional(record),
  tools: optional(listOf(tool)),
  toolChoice: optional(record),
  task: optional(record),
  ...requestFields,
})

/** Result of `sampling/createMessage`. */
export const createMessageResult: Shape<CreateMessageResult> = shape<CreateMessageResult>({
  role,
  content: oneOrMore,
  model: text,
  stopReason: optional(text),
  ...otherFields,
})

function block(value: unknown): Problem | undefined {
  if (isObject(value) && value.type === 'tool_use') return toolUse(value)
  if (isObject(value) && value.type === 'tool_result') return toolResult(value)
  return content(value)
}

function oneOrMore(value: unknown): Problem | undefined {
  return Array.isArray(value) ? blocks(value) : block(value)
}

function messages(value: unknown): Problem | undefined {
  return conversation(value) ?? findImbalance(value as readonly SamplingMessage[])
}

/**
 * Every tool use is answered at once, by the next message, which is the user's and has nothing but such
 * answers.
 */
function findImbalance(all: readonly SamplingMessage[]): Problem | undefined {
  let open: readonly string[] = []
  for (const [index, { role, content }] of all.entries()) {
    const parts = Array.isArray(content) ? content : [content]
    const answered = parts.filter(isToolResult).map(({ toolUseId }) => toolUseId)
    const problem = judge(open, answered, parts.length, role)
    if (problem !== undefined) return { path: `[${index}]`, ...problem }
    open = parts.filter(isToolUse).map(({ id }) => id)
  }
  if (open.length === 0) return undefined
  return { path: '', expected: 'a tool_result for every tool_use', got: 'a tool_use as the end' }
}

function judge(
  open: readonly string[],
  answered: readonly string[],
  partCount: number,
  role: SamplingMessage['role'],
): Omit<Problem, 'path'> | undefined {
  if (open.length === 0 && answered.length === 0) return undefined
  if (role === 'assistant')
    return { expected: 'tool results from the user', got: 'a message of the assistant' }
  if (answered.length < partCount) {
    return { expected: 'tool results and nothing else', got: 'other content among them' }
  }
  const ids = new Set(answered)
  if (open.length === answered.length && open.every((id) => ids.has(id))) return undefined
  return { expected: 'one tool_result for every tool_use of the message before', got: 'others' }
}

function isToolUse(part: SamplingContent): part is ToolUseContent {
  return part.type === 'tool_use'
}

function isToolResult(part: SamplingContent): part is ToolResultContent {
  return part.type === 'tool_result'
}
