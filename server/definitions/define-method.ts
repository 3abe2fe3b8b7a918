import { isObject } from '../../protocol/wire/json.js'
import type { Schema } from '../../protocol/schema/schema.js'
import type { ToolContext } from '../context/context.js'
import { checkFields, checkFunction, checkOptions, checkTimeout } from './definition.js'
import { type Described, readObjectSchema } from './definition-schema.js'
import { readScopes, readSession } from './presented.js'
import type { ArgumentsOf } from './schema-arguments.js'

/** What a method's `run` is given, inferred from its `params`; without them whatever came. */
export type ParamsOf<Params> = Params extends undefined
  ? Readonly<Record<string, unknown>>
  : ArgumentsOf<Params>

/** A request of an author's own as its author writes it. */
export interface MethodOptions<Params extends Described | undefined = undefined, Context = ToolContext> {
  /**
   * What it takes, like `input` of a tool; what does not fit is -32602. Default: anything. `_meta` is in
   * `ctx.request` only.
   */
  readonly params?: Params
  /** What its caller's principal has to be allowed, all of it. Default: nothing. */
  readonly scopes?: readonly string[]
  /** Whether it needs a session, like `session` of a tool. Default false. */
  readonly session?: boolean
  /**
   * Milliseconds it may take before it is stopped and answered with an error. Default: the server's
   * `requestTimeout`.
   */
  readonly timeout?: number
  /**
   * Answers it, as a task of its own: with an object, or with nothing for an empty one. Throw `McpError` for
   * an error of your own.
   */
  run(params: ParamsOf<Params>, ctx: Context): object | undefined | Promise<object | undefined>
}

/** A checked and frozen method: data, to be used by any number of servers. */
export interface MethodDefinition {
  readonly kind: 'method'
  readonly params: Schema | undefined
  readonly scopes: readonly string[] | undefined
  readonly session: boolean
  readonly timeout: number | undefined
  readonly run: (params: never, ctx: ToolContext) => unknown
}

const fields = new Set(['params', 'scopes', 'session', 'timeout', 'run'])

/**
 * Defines a request that no revision knows, for `methods` of `defineServer`; the params of `run` are inferred
 * from `params`. Throws BAD_DEFINITION.
 */
export function defineMethod<const Params extends Described | undefined = undefined>(
  options: MethodOptions<Params>,
): MethodDefinition {
  checkOptions('method', options)
  const { params, scopes, session, timeout, run } = options as MethodOptions<Params>
  checkFields('method', options, fields)
  checkTimeout('method', timeout)
  checkFunction('method', 'run', run)
  return Object.freeze({
    kind: 'method',
    params:
      params === undefined
        ? undefined
        : readObjectSchema({ about: 'method', field: 'params' }, params, false),
    scopes: readScopes('method', scopes),
    session: readSession('method', session),
    timeout,
    run: run.bind(options as MethodOptions<Params>) as MethodDefinition['run'],
  })
}

/** Whether this is what `defineMethod` returns. */
export function isMethodDefinition(value: unknown): value is MethodDefinition {
  return isObject(value) && value.kind === 'method' && Object.isFrozen(value)
}
