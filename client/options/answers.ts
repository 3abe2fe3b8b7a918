import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'
import type { ElicitFormParams, ElicitResult, ElicitUrlParams } from '../../protocol/messages/elicitation.js'
import type { Revision } from '../../protocol/dialects/dialect.js'
import type { Root } from '../../protocol/messages/roots.js'
import type { CreateMessageParams, CreateMessageResult } from '../../protocol/messages/sampling.js'
import { currentOwner, type OwnerToken } from '../../runtime/faults/containment.js'
import { bad, readFields, readText } from '../base/read-options.js'

/** What is known of a question besides its params. */
export interface QuestionContext {
  /**
   * Aborts when nobody waits for the answer any more: the server took it back, the connection is lost, the
   * call is over, or time is up.
   */
  readonly signal: AbortSignal
  /** The name of the client, which may share its handlers with others. */
  readonly client: string
  readonly revision: Revision
}

type Awaitable<T> = T | Promise<T>

/** Shows a form to the user; fields that the answer leaves out get the defaults of the form. */
export type ElicitForm = (params: ElicitFormParams, ctx: QuestionContext) => Awaitable<ElicitResult>

/**
 * Shows the user an address, in full, and opens it only with consent; `accept` means consent, not that it is
 * done.
 */
export type ElicitUrl = (
  params: ElicitUrlParams,
  ctx: QuestionContext,
) => Awaitable<Pick<ElicitResult, 'action'>>

/**
 * Has a model go on with a conversation. To say that the user does not want it, throw an McpError (-1 by
 * custom).
 */
export type Sample = (params: CreateMessageParams, ctx: QuestionContext) => Awaitable<CreateMessageResult>

/**
 * How a client answers what a server asks; what is absent is not declared, and refused when it is asked all
 * the same.
 */
export interface AnswerOptions {
  /** How the user is asked; a function alone is for forms. */
  readonly onElicit?: ElicitForm | { readonly form?: ElicitForm; readonly url?: ElicitUrl }
  /**
   * How a model is asked; `tools` and `context` say that it takes tools, and other contexts than none.
   * Default neither.
   */
  readonly onSample?: Sample | { readonly run: Sample; readonly tools?: boolean; readonly context?: boolean }
  /** The places that the server may work in, or what tells them; `setRoots` changes them. */
  readonly roots?: readonly Root[] | (() => Awaitable<readonly Root[]>)
}

/** Checked handlers, what is declared for them, and in whose scope they run. */
export interface Answers {
  readonly form: ElicitForm | undefined
  readonly url: ElicitUrl | undefined
  readonly sample: Sample | undefined
  readonly roots: AnswerOptions['roots']
  readonly capabilities: ClientCapabilities
  /** Whoever gave the handlers; undefined for code without an owner. */
  readonly owner: OwnerToken | undefined
}

/** Reads the handlers among the options of a client. Throws BAD_OPTION, naming the field. */
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

/** Checks a list of roots: every uri is a `file:` one. Throws BAD_OPTION. */
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
  if (form !== undefined && typeof form !== 'function') throw bad('onElicit.form', 'a function', form)
  if (url !== undefined && typeof url !== 'function') throw bad('onElicit.url', 'a function', url)
  if (form === undefined && url === undefined) throw bad('onElicit', 'form, url, or both', value)
  return { form: form as ElicitForm | undefined, url: url as ElicitUrl | undefined }
}

function readSample(value: unknown): {
  run: Sample | undefined
  capability: ClientCapabilities['sampling']
} {
  if (value === undefined) return { run: undefined, capability: undefined }
  if (typeof value === 'function') return { run: value as Sample, capability: {} }
  const { run, tools, context } = readFields(value, 'onSample', ['run', 'tools', 'context'])
  if (typeof run !== 'function') throw bad('onSample.run', 'a function', run)
  for (const [field, flag] of Object.entries({ tools, context }))
    if (flag !== undefined && typeof flag !== 'boolean') throw bad(`onSample.${field}`, 'true or false', flag)
  const capability = { ...(tools === true && { tools: {} }), ...(context === true && { context: {} }) }
  return { run: run as Sample, capability }
}
