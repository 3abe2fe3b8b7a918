import type { JsonObject } from '../../protocol/wire/json.js'
import type { ToolResult } from '../requests/results.js'
import { gatherTools, type ModelToolsOptions, type ToolSource, wordsOf } from './model-tools.js'

/** A tool as Vercel's AI SDK takes it (5 and 6), without a dependency on that. */
export interface AiTool {
  readonly type: 'dynamic'
  readonly description?: string
  readonly inputSchema: AiSchema
  /** Throws the words of a tool that failed (`isError`), which the model is told. */
  execute(args: unknown, options?: { readonly abortSignal?: AbortSignal | undefined }): Promise<ToolResult>
  toModelOutput(given: unknown): AiOutput
}

/**
 * The JSON Schema of a tool's arguments, as a Standard Schema; version 5 finds its own mark. The server
 * checks values.
 */
export interface AiSchema {
  readonly jsonSchema: JsonObject
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => { readonly value: never }
    readonly jsonSchema: {
      readonly input: () => Record<string, unknown>
      readonly output: () => Record<string, unknown>
    }
  }
}

/** What a model is shown of a result. */
export type AiOutput =
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'content'; readonly value: AiPart[] }

type AiPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'media'; readonly data: string; readonly mediaType: string }

/**
 * The tools of one server, or of several, for `generateText`, `streamText` and agents of Vercel's AI SDK: by
 * name, as they are now. Images and sounds go to the model as such. A call is given up with the one of the
 * SDK. Rejects as `listTools`, and with BAD_OPTION.
 */
export async function toAiTools(
  source: ToolSource,
  options?: ModelToolsOptions,
): Promise<Record<string, AiTool>> {
  const tools = await gatherTools(source, options)
  return Object.fromEntries(
    tools.map(({ name, tool, call }) => {
      const made: AiTool = {
        type: 'dynamic',
        ...(tool.description !== undefined && { description: tool.description }),
        inputSchema: schemaOf(tool.inputSchema as JsonObject),
        async execute(args, { abortSignal } = {}) {
          const result = await call(args, abortSignal)
          if (result.isError === true) throw new Error(wordsOf(result))
          return result
        },
        toModelOutput,
      }
      return [name, made]
    }),
  )
}

function schemaOf(jsonSchema: JsonObject): AiSchema {
  const show = (): Record<string, unknown> => ({ ...jsonSchema })
  const standard: AiSchema['~standard'] = {
    version: 1,
    vendor: 'caduceus',
    validate: (value) => ({ value: value as never }),
    jsonSchema: { input: show, output: show },
  }
  const mark = { [Symbol.for('vercel.ai.schema')]: true, validate: undefined }
  return { ...mark, jsonSchema, '~standard': standard }
}

/** Version 5 gives the result, version 6 puts it into `output`. */
function toModelOutput(given: unknown): AiOutput {
  const result = (isResult(given) ? given : (given as { output?: unknown } | null)?.output) as ToolResult
  if (!isResult(result)) return { type: 'text', value: JSON.stringify(result) ?? '' }
  const hasMedia = result.content.some(({ type }) => type === 'image' || type === 'audio')
  if (!hasMedia) return { type: 'text', value: wordsOf(result) }
  const value = result.content.map(
    (part): AiPart =>
      part.type === 'image' || part.type === 'audio'
        ? { type: 'media', data: part.data, mediaType: part.mimeType }
        : { type: 'text', text: wordsOf({ ...result, content: [part] }) },
  )
  return { type: 'content', value }
}

function isResult(value: unknown): value is ToolResult {
  return Array.isArray((value as { content?: unknown } | null | undefined)?.content)
}
