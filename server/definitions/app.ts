import type { ToolContext } from '../context/context.js'
import { defineMethod, type MethodDefinition, type MethodOptions } from './define-method.js'
import {
  definePrompt,
  type IsolatedPromptOptions,
  type PromptArguments,
  type PromptDefinition,
  type PromptOptions,
} from './define-prompt.js'
import {
  defineResource,
  defineResourceTemplate,
  type IsolatedResourceOptions,
  type IsolatedResourceTemplateOptions,
  type ResourceDefinition,
  type ResourceOptions,
  type ResourceTemplateDefinition,
  type ResourceTemplateOptions,
} from './define-resource.js'
import {
  type AnyTools,
  defineServer,
  type ServedBy,
  type ServerDefinition,
  type ServerDefinitionOptions,
} from './define-server.js'
import {
  defineTool,
  type IsolatedToolOptions,
  type StructuredReturn,
  type StructuredToolOptions,
  type ToolDefinition,
  type ToolOptions,
  type TypesFor,
} from './define-tool.js'
import type { NameOf } from './component.js'
import type { Described } from './described.js'
import type { NoticeContext } from './low-level.js'
import type { SessionContext } from './session-hooks.js'

/** An author's own types. */
export interface AppTypes {
  /** The type of `ctx.user`: of `assigns.user`, or of the principal's claims. */
  readonly user?: unknown
  /** The types of a session's values by key: for `ctx.get` and `ctx.update`. */
  readonly session?: object
  /** The types of the values in `ctx.assigns`, by name. */
  readonly assigns?: object
  /** The type of `initArg` of `startServer`, for `session.init`. Nothing checks it at run time. */
  readonly initArg?: unknown
}

/** A context with an author's own types. Nothing checks them at run time. */
export type Typed<Context, Types extends AppTypes> = Omit<
  Context,
  'user' | 'assign' | 'assigns' | 'get' | 'update'
> &
  ('user' extends keyof Context ? CallerOf<Types> : unknown) &
  AssignsOf<Types> &
  (Types extends { readonly session: infer Session extends object }
    ? SessionStateOf<Session>
    : Pick<ToolContext, 'get' | 'update'>)

/** The context of `run`, `read`, `get` and completers of an app. */
export type AppContext<Types extends AppTypes> = Typed<ToolContext, Types>

interface CallerOf<Types extends AppTypes> {
  /** Undefined for an anonymous caller. */
  readonly user: Types['user'] | undefined
}

interface AssignsOf<Types extends AppTypes> {
  readonly assigns: Types extends { readonly assigns: infer Assigns extends object }
    ? Readonly<Partial<Assigns>>
    : Readonly<Record<string, unknown>>
  /** Gives the session live values; see `ToolContext`. */
  assign(values: AssignsOf<Types>['assigns']): void
}

interface SessionStateOf<Session extends object> {
  /** A copy of the session's value under a key; see `ToolContext`. */
  get<Key extends keyof Session & string>(key: Key): Promise<Session[Key] | undefined>
  /** Changes the session's value under a key; see `ToolContext`. */
  update<Key extends keyof Session & string, Value extends Session[Key] | undefined>(
    key: Key,
    fn: (value: Session[Key] | undefined) => Value | Promise<Value>,
  ): Promise<Value>
}

type NamedBy<Name> = { readonly name?: Name }

/** The `define` functions with an author's own types. */
export interface App<Types extends AppTypes> {
  defineTool<
    const Input extends Described | undefined = undefined,
    Name extends string | undefined = undefined,
  >(
    options: ToolOptions<Input, AppContext<Types>> & NamedBy<Name>,
  ): ToolDefinition<NameOf<Name>, TypesFor<Input, undefined>>
  defineTool<
    const Input extends Described | undefined = undefined,
    const Output extends Described | undefined = undefined,
    Name extends string | undefined = undefined,
  >(
    options: IsolatedToolOptions<Input, Output> & NamedBy<Name>,
  ): ToolDefinition<NameOf<Name>, TypesFor<Input, Output>>
  defineTool<
    const Output extends Described,
    const Input extends Described | undefined = undefined,
    Name extends string | undefined = undefined,
    const Returned extends StructuredReturn<Output> = StructuredReturn<Output>,
  >(
    options: StructuredToolOptions<Input, Output, AppContext<Types>, Returned> & NamedBy<Name>,
  ): ToolDefinition<NameOf<Name>, TypesFor<Input, Output>>
  defineResource<Name extends string | undefined = undefined>(
    options: (ResourceOptions<AppContext<Types>> | IsolatedResourceOptions) & NamedBy<Name>,
  ): ResourceDefinition<NameOf<Name>>
  defineResourceTemplate<const Template extends string, Name extends string | undefined = undefined>(
    options: (
      | ResourceTemplateOptions<Template, AppContext<Types>>
      | IsolatedResourceTemplateOptions<Template, AppContext<Types>>
    ) &
      NamedBy<Name>,
  ): ResourceTemplateDefinition<NameOf<Name>>
  definePrompt<
    const Given extends PromptArguments = readonly [],
    Name extends string | undefined = undefined,
  >(
    options: (PromptOptions<Given, AppContext<Types>> | IsolatedPromptOptions<Given, AppContext<Types>>) &
      NamedBy<Name>,
  ): PromptDefinition<NameOf<Name>>
  defineMethod<const Params extends Described | undefined = undefined>(
    options: MethodOptions<Params, AppContext<Types>>,
  ): MethodDefinition
  defineServer<const Tools extends AnyTools = readonly []>(
    options: ServerDefinitionOptions<
      AppContext<Types>,
      Typed<NoticeContext, Types>,
      Typed<SessionContext, Types>,
      Types['initArg']
    > & { readonly tools?: Tools },
  ): ServerDefinition<ServedBy<Tools>>
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
 * The `define` functions with your own types: `createApp<{ user: User; session: { count: number } }>()`. At
 * run time they are the same functions, so any server can use what they define.
 */
export function createApp<Types extends AppTypes>(): App<Types> {
  return functions as unknown as App<Types>
}
