import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'
import type { ElicitFormParams, ElicitResult, ElicitUrlParams } from '../../protocol/messages/elicitation.js'
import type { Revision } from '../../protocol/dialects/dialect.js'
import type { Root } from '../../protocol/messages/roots.js'
import type { CreateMessageParams, CreateMessageResult } from '../../protocol/messages/sampling.js'
import { currentOwner, type OwnerToken } from '../../runtime/faults/containment.js'
import { bad, readFields, readFlag, readFunction, readText } from '../base/read-options.js'

/** What a handler learns besides the params of the question. */
export interface QuestionContext {
  /** Aborts when the answer is of no use any more: cancelled, connection lost, call over, or out of time. */
  readonly signal: AbortSignal
  /** The name of the client. */
  readonly client: string
  readonly revision: Revision
  /**
   * The `signal` of the call that the question belongs to. Undefined: the call has none, or no call is known:
   * before 2026-07-28 only pages that a refusal asks for (-32042) belong to one.
   */
  readonly callSignal: AbortSignal | undefined
}

type Awaitable<T> = T | Promise<T>

/** Shows a form to the user. Fields that the answer leaves out get the defaults of the form. */
export type ElicitForm = (params: ElicitFormParams, ctx: QuestionContext) => Awaitable<ElicitResult>

/** Shows an address, in full, and opens it only with consent. `accept` means consent, not completion. */
export type ElicitUrl = (
  params: ElicitUrlParams,
  ctx: QuestionContext,
) => Awaitable<Pick<ElicitResult, 'action'>>

/** Has a model continue a conversation. To say that the user refuses, throw an McpError (-1 by custom). */
export type Sample = (params: CreateMessageParams, ctx: QuestionContext) => Awaitable<CreateMessageResult>

/** How a client answers requests of a server. Those without a handler are not declared, and are refused. */
export interface AnswerOptions {
  /** Asks the user; a function alone is for forms. */
  readonly onElicit?: ElicitForm | { readonly form?: ElicitForm; readonly url?: ElicitUrl }
  /** Asks a model; `tools` and `context` declare that it takes them. Default neither. */
  readonly onSample?: Sample | { readonly run: Sample; readonly tools?: boolean; readonly context?: boolean }
  /** The folders that the server may work in, or a function that tells them; `setRoots` changes them. */
  readonly roots?: readonly Root[] | ((ctx: QuestionContext) => Awaitable<readonly Root[]>)
}

/** Checked handlers, their capabilities, and the owner in whose scope they run. */
export interface Answers {
  readonly form: ElicitForm | undefined
  readonly url: ElicitUrl | undefined
  readonly sample: Sample | undefined
  readonly roots: AnswerOptions['roots']
  readonly capabilities: ClientCapabilities
  /** Undefined: given by code without an owner. */
  readonly owner: OwnerToken | undefined
}

/** Throws BAD_OPTION, naming the field. */
export function readAnswers({ onElicit, onSample, roots }: Record<string, unknown>): Answers {
  const { form, url } = readElicit(onElicit)
  const { run: sample, capability: sampling } = readSample(onSample)
  if (roots !== undefined && typeof roots !== 'function') readRoots(roots)
  const elicitation = { ...(form !== undefined && { form: {} }), ...(url !== undefined && { url: {} }) }
  const capabilities: ClientCapabilities = {
    ...((form !== undefined || url !== undefined) && { elicitation }),
    ...(sampling !== undefined && { sampling }),
    ...(roots !== undefined && { roots: { listChanged: true } }),
  }
  return Object.freeze({
    form,
    url,
    sample,
    roots: roots as AnswerOptions['roots'],
    capabilities,
    owner: currentOwner(),
  })
}

/** Every uri is a `file:` one. Throws BAD_OPTION. */
export function readRoots(value: unknown): readonly Root[] {
  if (!Array.isArray(value)) throw bad('roots', 'an array of roots, or a function', value)
  return value.map((root: unknown, at) => {
    const { uri, name } = readFields(root, `roots[${at}]`, ['uri', 'name', '_meta'])
    if (typeof uri !== 'string' || !URL.canParse(uri) || !uri.startsWith('file:'))
      throw bad(`roots[${at}].uri`, 'a file: uri', uri)
    if (name !== undefined) readText(name, `roots[${at}].name`)
    return root as Root
  })
}

function readElicit(value: unknown): Pick<Answers, 'form' | 'url'> {
  if (value === undefined) return { form: undefined, url: undefined }
  if (typeof value === 'function') return { form: value as ElicitForm, url: undefined }
  const { form, url } = readFields(value, 'onElicit', ['form', 'url'])
  if (form !== undefined) readFunction(form, 'onElicit.form')
  if (url !== undefined) readFunction(url, 'onElicit.url')
  if (form === undefined && url === undefined) throw bad('onElicit', 'form, url, or both', value)
  return { form: form as ElicitForm | undefined, url: url as ElicitUrl | undefined }
}

function readSample(value: unknown): { run?: Sample; capability?: ClientCapabilities['sampling'] & object } {
  if (value === undefined) return {}
  if (typeof value === 'function') return { run: value as Sample, capability: {} }
  const { run, tools, context } = readFields(value, 'onSample', ['run', 'tools', 'context'])
  readFunction(run, 'onSample.run')
  const capability = {
    ...(readFlag(tools, 'onSample.tools', false) && { tools: {} }),
    ...(readFlag(context, 'onSample.context', false) && { context: {} }),
  }
  return { run: run as Sample, capability }
}
