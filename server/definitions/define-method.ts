import { isExtensionId } from '../../protocol/messages/capabilities.js'
import type { Schema } from '../../protocol/schema/schema.js'
import type { ToolContext } from '../context/context.js'
import { readScopes } from './component.js'
import { definitionGuard, type DefinitionReaders, definitionReaders } from './definition.js'
import { type Described, readObjectSchema, type ArgumentsOf } from './described.js'

/** The first argument of a method's `run`, inferred from its `params`; without them, what the client sent. */
export type ParamsOf<Params> = Params extends undefined
  ? Readonly<Record<string, unknown>>
  : ArgumentsOf<Params>

/** A request of the author's own: what `defineMethod` takes. */
export interface MethodOptions<Params extends Described | undefined = undefined, Context = ToolContext> {
  /** Like `input` of a tool; misfits are -32602. Default: anything. `_meta` is in `ctx.request` only. */
  readonly params?: Params
  /**
   * The extension that it belongs to, one of the server's `extensions`. A client that has not declared it is
   * refused: -32021 in 2026-07-28, -32601 in a session. Default: anybody may call it.
   */
  readonly extension?: string
  /** The scopes that its caller's principal needs, all of them. Default: none. */
  readonly scopes?: readonly string[]
  /** Whether it needs a session, like `session` of a tool. Default false. */
  readonly session?: boolean
  /** Milliseconds until it is stopped and answered with an error. Default: the server's `timeouts.request`. */
  readonly timeout?: number
  /** Answers in its own task: with an object, or nothing for `{}`. Throw `McpError` for your own error. */
  run(params: ParamsOf<Params>, ctx: Context): object | undefined | Promise<object | undefined>
}

/** A checked and frozen method: data, for any number of servers. */
export interface MethodDefinition {
  readonly kind: 'method'
  readonly params: Schema | undefined
  readonly extension: string | undefined
  readonly scopes: readonly string[] | undefined
  readonly session: boolean
  readonly timeout: number | undefined
  readonly run: (params: never, ctx: ToolContext) => unknown
}

const fields = new Set(['params', 'extension', 'scopes', 'session', 'timeout', 'run'])

/** Defines a method for `methods` of `defineServer`. Throws BAD_DEFINITION. */
export function defineMethod<const Params extends Described | undefined = undefined>(
  options: MethodOptions<Params>,
): MethodDefinition {
  const read = definitionReaders('method')
  const { params, extension, scopes, session, timeout, run } = read.readObject(options, 'options')
  read.checkFields(options, fields)
  return Object.freeze({
    kind: 'method',
    params: params === undefined ? undefined : readObjectSchema(read, 'params', params as Described, false),
    extension: readExtension(read, extension),
    scopes: readScopes(read, scopes),
    session: read.readFlag(session, 'session', false),
    timeout: read.readTimeout(timeout),
    run: read.readFunction(run, 'run').bind(options) as MethodDefinition['run'],
  })
}

function readExtension({ bad }: DefinitionReaders, id: unknown): string | undefined {
  if (id === undefined || (typeof id === 'string' && isExtensionId(id))) return id
  throw bad('extension', 'an id such as com.example/search', id)
}

export const isMethodDefinition = definitionGuard<MethodDefinition>('method')
