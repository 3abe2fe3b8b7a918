import { ProtocolError } from '../wire/errors.js'
import { expand } from './expand.js'
import { compileMatch } from './match.js'
import { type Expression, type Part, readParts, type TemplateValue } from './parts.js'

/** Values for the variables of a template; those left out are not written. */
export interface TemplateValues {
  readonly [name: string]: TemplateValue | number | boolean | undefined
}

/**
 * A URI template (RFC 6570, all four levels), read once: it writes uris, and finds the variables of a uri.
 */
export interface UriTemplate {
  readonly template: string
  /** In the order of the template. */
  readonly variables: readonly string[]
  /**
   * Writes the uri of these values (RFC 6570, section 3). Throws BAD_TEMPLATE for a value that cannot be
   * written.
   */
  expand(values: TemplateValues): string
  /**
   * The variables of a uri, percent-decoded, or undefined when it does not fit. `{name}` takes one or more
   * characters that are not reserved, `{+name}` any; where that leaves a choice, the variable that comes
   * first takes most. What `{?a,b}`, `{&a}` and `{;a}` name may come in any order or be missing; `{/path*}`
   * is a list, `{?rest*}` an object. The time grows with the length of the uri, and no faster.
   */
  match(uri: string): Readonly<Record<string, TemplateValue>> | undefined
}

/** The variables of a template written as a literal; those of a plain string are not known. */
export type TemplateVariables<Template extends string> = string extends Template
  ? Readonly<Record<string, string>>
  : Flat<
      { readonly [V in Found<Template> as V['always'] extends true ? V['name'] : never]: V['value'] } & {
        readonly [V in Found<Template> as V['always'] extends true ? never : V['name']]?: V['value']
      }
    >

type Flat<T> = { [Key in keyof T]: T[Key] }

type Found<Template extends string> = Template extends `${string}{${infer Inner}}${infer Rest}`
  ? InExpression<Inner> | Found<Rest>
  : never

type InExpression<Inner extends string> = Inner extends `${'?' | '&'}${infer Names}`
  ? OneOf<Names, false, Readonly<Record<string, string>>>
  : Inner extends `;${infer Names}`
    ? OneOf<Names, false, Readonly<Record<string, string>>>
    : Inner extends `${'+' | '#' | '.' | '/'}${infer Names}`
      ? OneOf<Names, true, readonly string[]>
      : OneOf<Inner, true, readonly string[]>

type OneOf<Names extends string, Always, Exploded> = Names extends `${infer First},${infer Rest}`
  ? Variable<First, Always, Exploded> | OneOf<Rest, Always, Exploded>
  : Variable<Names, Always, Exploded>

type Variable<Spec extends string, Always, Exploded> = Spec extends `${infer Name}*`
  ? { readonly name: Name; readonly always: Always; readonly value: Exploded }
  : Spec extends `${infer Name}:${number}`
    ? { readonly name: Name; readonly always: Always; readonly value: string }
    : { readonly name: Spec; readonly always: Always; readonly value: string }

/** Reads a URI template. Throws BAD_TEMPLATE for what is none, has no variables, or has one of them twice. */
export function parseUriTemplate(template: string): UriTemplate {
  const parts = readParts(template)
  const variables = parts.filter(isExpression).flatMap(({ variables }) => variables.map(({ name }) => name))
  if (variables.length === 0) throw bad(template, 'at least one variable')
  const twice = variables.find((name, index) => variables.indexOf(name) !== index)
  if (twice !== undefined) throw bad(template, `each variable once, and ${twice} is there twice`)
  return Object.freeze({
    template,
    variables: Object.freeze(variables),
    expand: (values: TemplateValues) => expand(parts, values),
    match: compileMatch(parts),
  })
}

/**
 * Writes the uri of these values: any template of RFC 6570. Throws BAD_TEMPLATE for what is none, and for a
 * value that cannot be written.
 */
export function expandUriTemplate(template: string, values: TemplateValues): string {
  return expand(readParts(template), values)
}

function isExpression(part: Part): part is Expression {
  return typeof part !== 'string'
}

function bad(template: string, expected: string): ProtocolError {
  return new ProtocolError('BAD_TEMPLATE', `uri template ${JSON.stringify(template)}: expected ${expected}`)
}
