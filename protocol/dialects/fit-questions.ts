import { ProtocolError } from '../wire/errors.js'
import { fitContent } from './fit-content.js'
import { changeField, leaveOut, mapKept } from './fit-fields.js'
import type { Lacks } from './lacks.js'
import type { ElicitFormParams, ElicitParams, FormField, FormSchema } from '../messages/elicitation.js'
import type {
  CreateMessageParams,
  CreateMessageResult,
  SamplingContent,
  SamplingMessage,
} from '../messages/sampling.js'

/**
 * Params of `elicitation/create`. Throws NOT_IN_REVISION for a mode or a field that the revision cannot ask
 * with.
 */
export function fitElicitation(lacks: Lacks, params: ElicitParams): ElicitParams {
  const { mode = 'form' } = params
  if (lacks.elicitation.includes(mode)) throw cannotSay('elicitation/create', `mode ${mode}`)
  if (params.mode === 'url') return leaveOut(params, lacks.fields.elicitUrlParams)
  return fitForm(lacks, leaveOut(params, lacks.fields.elicitParams))
}

/**
 * Params of `sampling/createMessage`: a list of content becomes several messages, one for each block. Throws
 * NOT_IN_REVISION where the conversation is about tools and the revision has none in sampling.
 */
export function fitSampling(lacks: Lacks, params: CreateMessageParams): CreateMessageParams {
  const { tools = [] } = params
  if (tools.length > 0 && lacks.content.includes('tool_use'))
    throw cannotSay('sampling/createMessage', 'tools')
  const fitted = leaveOut(params, lacks.fields.createMessageParams)
  return { ...fitted, messages: params.messages.flatMap((message) => fitMessage(lacks, message)) }
}

/**
 * Result of `sampling/createMessage`. Throws NOT_IN_REVISION for what the revision cannot answer with, such
 * as several blocks.
 */
export function fitSamplingResult(lacks: Lacks, result: CreateMessageResult): CreateMessageResult {
  return changeField(result, 'content', (content) => {
    const fitted = fitBlocks(lacks, content)
    if (!lacks.contentLists || !Array.isArray(fitted)) return fitted
    const [block, ...others] = fitted
    if (block !== undefined && others.length === 0) return block
    throw cannotSay('sampling/createMessage', `answer of ${fitted.length} blocks of content`)
  })
}

function fitForm(lacks: Lacks, params: ElicitFormParams): ElicitFormParams {
  return changeField(params, 'requestedSchema', (schema) =>
    changeField(leaveOut(schema, lacks.fields.formSchema), 'properties', (fields) =>
      fitFields(lacks, fields),
    ),
  )
}

function fitFields({ form }: Lacks, fields: FormSchema['properties']): FormSchema['properties'] {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, fitField(form, name, field)]),
  )
}

function fitField(lacking: Lacks['form'], name: string, field: FormField): FormField {
  if (field.type === 'array' && lacking.includes('several_choices')) {
    throw cannotSay('elicitation/create', `choice of several (requestedSchema.properties.${name})`)
  }
  const kept = lacking.includes('defaults') && field.type !== 'boolean' ? leaveOut(field, ['default']) : field
  if (!('oneOf' in kept) || !lacking.includes('titled_choice')) return kept
  const { oneOf, ...rest } = kept
  return { ...rest, enum: oneOf.map((choice) => choice.const), enumNames: oneOf.map(({ title }) => title) }
}

function fitMessage(lacks: Lacks, message: SamplingMessage): SamplingMessage[] {
  const kept = leaveOut(message, lacks.fields.samplingMessage)
  const content = fitBlocks(lacks, message.content)
  if (!lacks.contentLists || !Array.isArray(content)) return [{ ...kept, content }]
  return content.map((block) => ({ ...kept, content: block }))
}

function fitBlocks(lacks: Lacks, content: SamplingMessage['content']): SamplingMessage['content'] {
  if (!Array.isArray(content)) return fitSamplingBlock(lacks, content)
  return mapKept(content, (block) => fitSamplingBlock(lacks, block))
}

function fitSamplingBlock(lacks: Lacks, block: SamplingContent): SamplingContent {
  if (block.type !== 'tool_use' && block.type !== 'tool_result')
    return fitContent(lacks, block) as SamplingContent
  if (!lacks.content.includes(block.type)) return block
  throw cannotSay('sampling/createMessage', `content of type ${block.type}`)
}

function cannotSay(method: string, what: string): ProtocolError {
  return new ProtocolError('NOT_IN_REVISION', `${method}: the negotiated revision has no ${what}`, {
    data: { method },
  })
}
