import { show } from '../../runtime/base/errors.js'
import { among } from '../../runtime/base/near.js'
import { optionReaders } from '../../runtime/base/read-options.js'
import { isObject } from '../../protocol/wire/json.js'
import { ServerError } from '../base/errors.js'

export type DefinitionReaders = ReturnType<typeof definitionReaders>

/**
 * Readers for the fields of one definition: each throws BAD_DEFINITION, naming it (`about`) and the field.
 */
export function definitionReaders(about: string) {
  const readers = optionReaders((field, problem) => definitionError(about, field, problem))
  const { badOption: bad, readMs } = readers

  /** Throws for an unknown field, with the one that was probably meant. */
  function checkFields(options: object, fields: ReadonlySet<string>): void {
    for (const field of Object.keys(options)) {
      if (fields.has(field)) continue
      if (Object.hasOwn(elsewhere, field))
        throw bad(field, `a field among ${[...fields].join(', ')} (${elsewhere[field]})`, field)
      const own = Object.entries(ownAliases).flatMap(([key, names]) => (fields.has(key) ? [names] : []))
      const known = among('a field', [...fields], field, Object.assign({ ...aliases }, ...own))
      throw bad(field, known, field)
    }
  }

  /** Throws for a value that is neither undefined nor a string. */
  function checkTexts(texts: Readonly<Record<string, unknown>>): void {
    for (const [field, value] of Object.entries(texts))
      if (value !== undefined && typeof value !== 'string') throw bad(field, 'a string', value)
  }

  function readTimeout(timeout: unknown): number | undefined {
    return timeout === undefined ? undefined : readMs(timeout, 'timeout')
  }

  return { ...readers, about, bad, checkFields, checkTexts, readTimeout }
}

export function definitionError(
  about: string,
  field: string,
  problem: string,
  details: { readonly cause?: unknown } = {},
): ServerError {
  return new ServerError('BAD_DEFINITION', `${about}: ${problem}`, { ...details, data: { field } })
}

export function aboutNamed(kind: string, name: unknown): string {
  return name === undefined ? kind : `${kind} ${show(name)}`
}

export function definitionGuard<Definition extends { readonly kind: string }>(kind: Definition['kind']) {
  return (value: unknown): value is Definition =>
    isObject(value) && value.kind === kind && Object.isFrozen(value)
}

type Given<Fields> = {
  [Key in keyof Fields as undefined extends Fields[Key] ? never : Key]: Fields[Key]
} & { [Key in keyof Fields as undefined extends Fields[Key] ? Key : never]?: Exclude<Fields[Key], undefined> }

export function given<Fields extends object>(fields: Fields): Given<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}

/** What other libraries have here, and where it is. */
const elsewhere: { readonly [field: string]: string } = Object.freeze({
  auth: 'it belongs to serveHttp({ auth })',
  middleware: 'defineServer has handleRequest',
  middlewares: 'defineServer has handleRequest',
  lifespan: 'defineServer has session.init; open once for the program what all sessions share',
  tags: 'put them into meta of a component',
})

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

/** The same for kinds that call the field something else. */
const ownAliases: { readonly [field: string]: { readonly [alias: string]: string } } = {
  read: { handler: 'read', run: 'read', execute: 'read' },
  get: { handler: 'get', run: 'get', execute: 'get', load: 'get' },
  params: { input: 'params', inputSchema: 'params', parameters: 'params', schema: 'params' },
  arguments: { input: 'arguments', inputSchema: 'arguments', parameters: 'arguments', schema: 'arguments' },
}
