import {
  isNotificationMethod,
  type Method,
  type NotificationMethod,
  type NotificationTo,
  type RequestTo,
  type Side,
} from '../messages/methods.js'
import type { Annotations, Implementation } from '../messages/base.js'
import type { ClientCapabilities, ServerCapabilities } from '../messages/capabilities.js'
import type { CompleteParams, PromptReference } from '../messages/completion.js'
import type { Resource, TextContent, TextResourceContents } from '../messages/content.js'
import type {
  ElicitationMode,
  ElicitFormParams,
  ElicitUrlParams,
  FormSchema,
} from '../messages/elicitation.js'
import type { ProgressParams } from '../messages/progress.js'
import type { Prompt, PromptArgument } from '../messages/prompts.js'
import type { ResourceTemplate } from '../messages/resources.js'
import type { Root } from '../messages/roots.js'
import type { CreateMessageParams, SamplingMessage } from '../messages/sampling.js'
import type { CallToolParams, CallToolResult, Tool } from '../messages/tools.js'

/** The revisions of MCP that we speak. */
export type Revision = '2024-11-05' | '2025-03-26' | '2025-06-18' | '2025-11-25' | '2026-07-28'

/** What one revision allows, as data; methods that it does not list do not exist in it. */
export interface Dialect {
  readonly revision: Revision
  /** Whether `initialize` opens a session; without it every request carries an envelope and stands alone. */
  readonly handshake: boolean
  /** Whether messages may come as an array. */
  readonly batches: boolean
  /** Whether HTTP clients name the revision in `MCP-Protocol-Version` on every request after `initialize`. */
  readonly versionHeader: boolean
  /** Whether an event stream may begin with an empty event, and end before its answer (SEP-1699). */
  readonly primedStreams: boolean
  /** The requests that each side may receive. */
  readonly requests: { readonly [S in Side]: readonly Method[] }
  /** The notifications that each side may receive. */
  readonly notifications: { readonly [S in Side]: readonly NotificationMethod[] }
  /** Requests that need no capability here, although the table names one. */
  readonly ungated: readonly Method[]
  /** The error codes that are not the same in every revision. */
  readonly errors: DialectErrors
  /** Which parts of the types it lacks; undefined: none, and messages are sent as they are. */
  readonly lacks?: Lacks
}

/** The error codes that are not the same in every revision. */
export interface DialectErrors {
  /** `resources/read` of a resource that does not exist. */
  readonly resourceNotFound: number
  /** The user has to visit a page first; a revision that lacks the code has that of a plain refusal. */
  readonly urlElicitationRequired: number
}

/** Which parts of this library's types (those of the newest revisions) a revision lacks; `fit` reads it. */
export interface Lacks {
  /** Fields that are left out, by the type they belong to. */
  readonly fields: LackingFields
  /**
   * Methods whose results can hold something it lacks; undefined: any. Other results are sent as they are.
   */
  readonly results?: readonly Method[]
  /** Methods whose params can hold something it lacks, like `results`. */
  readonly requests?: readonly Method[]
  /** Kinds of content: the first two are said as text, the others cannot be said. */
  readonly content: readonly ('audio' | 'resource_link' | 'tool_use' | 'tool_result')[]
  /** True: structured content and its schema are objects; others are left out. */
  readonly objectsOnly: boolean
  /** True: messages and results in sampling have one block of content, not a list. */
  readonly contentLists: boolean
  /** Modes of elicitation; a question in one of them cannot be said. */
  readonly elicitation: readonly ElicitationMode[]
  /**
   * Parts of a form. Titled choices become `enumNames`, several choices cannot be said, defaults are kept for
   * booleans only.
   */
  readonly form: readonly ('titled_choice' | 'several_choices' | 'defaults')[]
}

/** Fields that may be absent. */
type Optional<T> = readonly {
  [K in keyof T]-?: Record<never, never> extends Pick<T, K> ? K : never
}[keyof T][]

/** The fields that a revision lacks; the keys name types of the protocol. */
export interface LackingFields {
  readonly implementation?: Optional<Implementation>
  readonly clientCapabilities?: Optional<ClientCapabilities>
  readonly rootsCapability?: Optional<NonNullable<ClientCapabilities['roots']>>
  readonly samplingCapability?: Optional<NonNullable<ClientCapabilities['sampling']>>
  readonly serverCapabilities?: Optional<ServerCapabilities>
  readonly tool?: Optional<Tool>
  readonly callToolParams?: Optional<CallToolParams>
  readonly callToolResult?: Optional<CallToolResult>
  readonly resource?: Optional<Resource>
  readonly resourceTemplate?: Optional<ResourceTemplate>
  readonly resourceContents?: Optional<TextResourceContents>
  readonly prompt?: Optional<Prompt>
  readonly promptArgument?: Optional<PromptArgument>
  readonly promptReference?: Optional<PromptReference>
  readonly completeParams?: Optional<CompleteParams>
  readonly content?: Optional<TextContent>
  readonly annotations?: Optional<Annotations>
  readonly progressParams?: Optional<ProgressParams>
  readonly createMessageParams?: Optional<CreateMessageParams>
  readonly samplingMessage?: Optional<SamplingMessage>
  readonly elicitParams?: Optional<ElicitFormParams>
  readonly elicitUrlParams?: Optional<ElicitUrlParams>
  readonly formSchema?: Optional<FormSchema>
  readonly root?: Optional<Root>
}

/** Whether `receiver` may be asked `method` in this revision; if not, the answer is -32601. */
export function acceptsRequest<S extends Side>(
  dialect: Dialect,
  receiver: S,
  method: string,
): method is RequestTo<S> {
  return dialect.requests[receiver].includes(method as Method)
}

/** Whether `receiver` may be told `method` in this revision; if not, it is ignored. */
export function acceptsNotification<S extends Side>(
  dialect: Dialect,
  receiver: S,
  method: string,
): method is NotificationTo<S> {
  return dialect.notifications[receiver].includes(method as NotificationMethod)
}

/** Whether a client may be told: what this revision has, or what no revision has, which is of an extension. */
export function reachesClient(dialect: Dialect, method: string): boolean {
  return !isNotificationMethod(method) || acceptsNotification(dialect, 'client', method)
}
