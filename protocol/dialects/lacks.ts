import type { Method } from '../messages/methods.js'
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

/**
 * What a revision does not have of the types of this library, which are those of 2025-11-25 and later, as
 * data: `fit` goes by it.
 */
export interface Lacks {
  /** Fields that are left out, by the type they belong to. */
  readonly fields: LackingFields
  /**
   * The methods whose results can have something of it; undefined: any. The results of others are sent as
   * they are.
   */
  readonly results?: readonly Method[]
  /** The methods whose params can have something of it, like `results`. */
  readonly requests?: readonly Method[]
  /** Kinds of content: the first two are said as text, the others cannot be said. */
  readonly content: readonly ('audio' | 'resource_link' | 'tool_use' | 'tool_result')[]
  /** True: what tools return for programs, and the schemas of that, are objects; others are left out. */
  readonly objectsOnly: boolean
  /** True: it has no lists of content in sampling, so that a message, and the answer, has one block. */
  readonly contentLists: boolean
  /** Ways to ask a user, which cannot be said otherwise. */
  readonly elicitation: readonly ElicitationMode[]
  /**
   * Parts of a form: titled choices become `enumNames`, several choices cannot be said, defaults of other
   * fields than yes or no are left out.
   */
  readonly form: readonly ('titled_choice' | 'several_choices' | 'defaults')[]
}

/** Only what may be absent can be left out. */
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
