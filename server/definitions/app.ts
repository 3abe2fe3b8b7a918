import type { ToolContext } from '../context/context.js'
import { defineMethod, type MethodDefinition, type MethodOptions } from './define-method.js'
import {
  definePrompt,
  type PromptArguments,
  type PromptDefinition,
  type PromptOptions,
} from './define-prompt.js'
import {
  defineResource,
  defineResourceTemplate,
  type ResourceDefinition,
  type ResourceOptions,
  type ResourceTemplateDefinition,
  type ResourceTemplateOptions,
} from './define-resource.js'
import { defineServer, type ServerDefinition, type ServerDefinitionOptions } from './define-server.js'
import {
  defineTool,
  type NameOf,
  type StructuredReturn,
  type StructuredToolOptions,
  type ToolDefinition,
  type ToolOptions,
} from './define-tool.js'
import type { Described } from './definition-schema.js'
import type { NoticeContext } from './low-level.js'
import type { SessionContext } from './session-hooks.js'

/** An author's own types. */
export interface AppTypes {
  /**
   * Of `ctx.user`: what the host program says of who calls (`assigns.user`, or the claims of the principal).
   */
  readonly user?: unknown
  /** What a session keeps, by its keys: those of `ctx.get` and `ctx.update`. */
  readonly session?: object
  /** Of `ctx.assigns` and `ctx.assign`: what middleware says of a request, and what a session was given. */
  readonly assigns?: object
  /** Of the `initArg` that `session.init` is given; nothing checks that the server is started with one. */
  readonly initArg?: unknown
}

/**
 * A context that goes by an author's own types. Nothing checks at run time that they hold: they say what the
 * author's middleware and tools put there.
 */
export type Typed<Context, Types extends AppTypes> = Omit<
  Context,
  'user' | 'assign' | 'assigns' | 'get' | 'update'
> &
  ('user' extends keyof Context ? CallerOf<Types> : unknown) &
  AssignsOf<Types> &
  (Types extends { readonly session: infer Session extends object }
    ? SessionStateOf<Session>
    : Pick<ToolContext, 'get' | 'update'>)

/** What `run`, `read`, `get` and completers of an app are given. */
export type AppContext<Types extends AppTypes> = Typed<ToolContext, Types>

interface CallerOf<Types extends AppTypes> {
  /** Undefined where nobody in particular calls. */
  readonly user: Types['user'] | undefined
}

interface AssignsOf<Types extends AppTypes> {
  readonly assigns: Types extends { readonly assigns: infer Assigns extends object }
    ? Readonly<Partial<Assigns>>
    : Readonly<Record<string, unknown>>
  /** Gives the session live values; see `ToolContext`. */
  assign(
    values: Types extends { readonly assigns: infer Assigns extends object }
      ? Readonly<Partial<Assigns>>
      : Readonly<Record<string, unknown>>,
  ): void
}

interface SessionStateOf<Session extends object> {
  /** A copy of what this session keeps under a key; see `ToolContext`. */
  get<Key extends keyof Session & string>(key: Key): Promise<Session[Key] | undefined>
  /** Changes what this session keeps under a key; see `ToolContext`. */
  update<Key extends keyof Session & string, Value extends Session[Key] | undefined>(
    key: Key,
    fn: (value: Session[Key] | undefined) => Value | Promise<Value>,
  ): Promise<Value>
}

type NamedBy<Name> = { readonly name?: Name }

/** The functions that define things, which know an author's own types. */
export interface App<Types extends AppTypes> {
  defineTool<
    const Input extends Described | undefined = undefined,
    Name extends string | undefined = undefined,
  >(options: ToolOptions<Input, AppContext<Types>> & NamedBy<Name>): ToolDefinition<NameOf<Name>>
  defineTool<
    const Output extends Described,
    const Input extends Described | undefined = undefined,
    Name extends string | undefined = undefined,
    const Returned extends StructuredReturn<Output> = StructuredReturn<Output>,
  >(
    options: StructuredToolOptions<Input, Output, AppContext<Types>, Returned> & NamedBy<Name>,
  ): ToolDefinition<NameOf<Name>>
  defineResource<Name extends string | undefined = undefined>(
    options: ResourceOptions<AppContext<Types>> & NamedBy<Name>,
  ): ResourceDefinition<NameOf<Name>>
  defineResourceTemplate<const Template extends string, Name extends string | undefined = undefined>(
    options: ResourceTemplateOptions<Template, AppContext<Types>> & NamedBy<Name>,
  ): ResourceTemplateDefinition<NameOf<Name>>
  definePrompt<
    const Given extends PromptArguments = readonly [],
    Name extends string | undefined = undefined,
  >(options: PromptOptions<Given, AppContext<Types>> & NamedBy<Name>): PromptDefinition<NameOf<Name>>
  defineMethod<const Params extends Described | undefined = undefined>(
    options: MethodOptions<Params, AppContext<Types>>,
  ): MethodDefinition
  defineServer(
    options: ServerDefinitionOptions<
      AppContext<Types>,
      Typed<NoticeContext, Types>,
      Typed<SessionContext, Types>,
      Types['initArg']
    >,
  ): ServerDefinition
}

const functions = Object.freeze({
  defineTool,
  defineResource,
  defineResourceTemplate,
  definePrompt,
  defineMethod,
  defineServer,
})

/**
 * The functions that define things, bound to an author's own types of user, session and assigns:
 * `createApp<{ user: User; session: { count: number } }>()`. They are the same functions: what one app
 * defines may be used by any server.
 */
export function createApp<Types extends AppTypes>(): App<Types> {
  return functions as unknown as App<Types>
}
