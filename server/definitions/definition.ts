import { isObject } from '../../protocol/wire/json.js'
import { show } from '../../runtime/base/errors.js'
import { among } from '../../runtime/base/near.js'
import { ServerError } from '../base/errors.js'

/** A component by its name, if it has one by now, as errors call it. */
export function aboutNamed(kind: string, name: unknown): string {
  return name === undefined ? kind : `${kind} ${show(name)}`
}

/** What is wrong with a definition, by the component's name and the field: BAD_DEFINITION. */
export function badDefinition(about: string, field: string, expected: string, got: unknown): ServerError {
  return new ServerError('BAD_DEFINITION', `${about}: ${field}: expected ${expected}, got ${show(got)}`, {
    data: { field },
  })
}

/** Throws BAD_DEFINITION unless the options are an object. */
export function checkOptions(kind: string, options: unknown): asserts options is Record<string, unknown> {
  if (!isObject(options)) throw badDefinition(kind, 'options', 'an object', options)
}

/** What other libraries call these fields. */
const aliases = Object.freeze({
  inputSchema: 'input',
  parameters: 'input',
  paramsSchema: 'input',
  schema: 'input',
  args: 'arguments',
  argsSchema: 'arguments',
  outputSchema: 'output',
  handler: 'run',
  execute: 'run',
  call: 'run',
  callback: 'run',
  cb: 'run',
  load: 'read',
  _meta: 'meta',
  iconUrl: 'icons',
  uri_template: 'uriTemplate',
})

/** For kinds of components whose own field is called something else. */
const ownAliases: { readonly [field: string]: { readonly [alias: string]: string } } = {
  read: { handler: 'read', run: 'read', execute: 'read' },
  get: { handler: 'get', run: 'get', execute: 'get', load: 'get' },
  params: { input: 'params', inputSchema: 'params', parameters: 'params', schema: 'params' },
  arguments: { input: 'arguments', inputSchema: 'arguments', parameters: 'arguments', schema: 'arguments' },
}

/** Throws BAD_DEFINITION for a field that nobody knows, with the one that was probably meant. */
export function checkFields(about: string, options: object, fields: ReadonlySet<string>): void {
  for (const field of Object.keys(options)) {
    if (fields.has(field)) continue
    const own = Object.entries(ownAliases).flatMap(([key, names]) => (fields.has(key) ? [names] : []))
    const known = among('a field', [...fields], field, Object.assign({ ...aliases }, ...own))
    throw badDefinition(about, field, known, field)
  }
}

/** Throws BAD_DEFINITION for a text that is there and is none. */
export function checkTexts(about: string, texts: Readonly<Record<string, unknown>>): void {
  for (const [field, value] of Object.entries(texts))
    if (value !== undefined && typeof value !== 'string') throw badDefinition(about, field, 'a string', value)
}

/** Throws BAD_DEFINITION for a timeout that is there and is none. */
export function checkTimeout(about: string, timeout: unknown): void {
  if (timeout !== undefined && !(typeof timeout === 'number' && timeout > 0))
    throw badDefinition(about, 'timeout', 'milliseconds above 0', timeout)
}

/** Throws BAD_DEFINITION for what is no function. */
export function checkFunction(about: string, field: string, value: unknown): void {
  if (typeof value !== 'function') throw badDefinition(about, field, 'a function', value)
}

/** The fields that are there, as a list shows them. */
export function given<Fields extends object>(
  fields: Fields,
): { [Key in keyof Fields]?: Exclude<Fields[Key], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
