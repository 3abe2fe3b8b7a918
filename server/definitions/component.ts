import { existsSync } from 'node:fs'
import type { Icon, Meta } from '../../protocol/messages/base.js'
import { deepFreeze, isObject } from '../../protocol/wire/json.js'
import { moduleUrl } from '../../runtime/base/entries.js'
import { ToolContext } from '../context/context.js'
import type { IsolatedHandler } from '../context/isolated.js'
import { aboutNamed, definitionError, type DefinitionReaders, definitionReaders } from './definition.js'
import type { Immutable } from './described.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { Relayed } from './relayed.js'

/** The options that components of all kinds have. */
export interface Presented {
  /** A name for people. */
  readonly title?: string
  /** What it is for, for the model. */
  readonly description?: string
  /**
   * Pictures to show beside its name, from `https:` or `data:`. Clients before 2025-11-25 do not get them.
   */
  readonly icons?: readonly Immutable<Icon>[]
  /** Its `_meta` in lists: any JSON object. */
  readonly meta?: Meta
  /**
   * The scopes that its caller's principal needs, all of them. Others do not see it in lists, and are refused
   * its use. The listener's `auth` or `authenticate` says who has which. Default: none.
   */
  readonly scopes?: readonly string[]
  /**
   * Whether it needs a session (`ctx.get`, `ctx.update`, `ctx.session.id`). A server with such a component
   * speaks only revisions with sessions. If its option `revisions` names 2026-07-28 all the same, the
   * component is in no list there, and using it is refused with `NO_SESSION`. Default false.
   */
  readonly session?: boolean
  /**
   * Milliseconds until a call ends with an error (tools: `isError`). Default: the server's `timeouts.request`.
   */
  readonly timeout?: number
}

/** What a component says in place of its function, when that runs in a thread or process of its own. */
export interface Isolated {
  /**
   * Where the handler runs: one call at a time, so that one that spins, crashes or takes too much memory
   * costs its call alone. It is ended when its time is up, and when nobody waits for it. `thread` starts
   * faster and needs less; `process` can be ended in native code, too, and a native crash, or a full heap on
   * Node 20, costs nobody else anything.
   */
  readonly isolate: 'thread' | 'process'
  /**
   * The module whose default export is the handler: a `file:` URL, as in `new URL('./heavy.js',
   * import.meta.url)`, or an absolute path. It gets the same arguments, and a `ctx` that does the same.
   * Arguments and result are copied (structured clone).
   */
  readonly module: URL | string
}

/** The other components have neither. */
export interface NotIsolated {
  readonly isolate?: undefined
  readonly module?: undefined
}

export interface ComponentDefinition<Name> {
  readonly name: Name
  readonly title: string | undefined
  readonly description: string | undefined
  readonly icons: readonly Readonly<Icon>[] | undefined
  readonly meta: Readonly<Meta> | undefined
  readonly scopes: readonly string[] | undefined
  readonly session: boolean
  /** Milliseconds; undefined: the server's `timeouts.request`. */
  readonly timeout: number | undefined
  /** Where its handler runs; undefined: here. */
  readonly isolated: IsolatedHandler | undefined
  /** Of a server behind this one, which checks and answers; its own handler is not called. */
  readonly relayed?: Relayed
  /** Whether this caller may see and use it, besides its scopes. */
  readonly permits?: ((peer: Peer) => boolean) | undefined
}

/** The type of a definition's name: undefined if its options have none. */
export type NameOf<Name> = Name extends string ? NoInfer<Name> : undefined

type ComponentHandler = (first: never, ctx: ToolContext) => unknown

export interface ComponentKind {
  readonly kind: string
  /** The unique field, what it has to be, and whether a value is that. */
  readonly key: string
  readonly expected: string
  fits(key: unknown): boolean
  readonly handler: string
  readonly fields: readonly string[]
}

/** Checks the options of a component. Throws BAD_DEFINITION, naming the component and the field. */
export function readComponent<Name>(
  { kind, key, expected, fits, handler, fields }: ComponentKind,
  options: object,
): {
  readonly read: DefinitionReaders
  readonly common: ComponentDefinition<Name>
  readonly handle: ComponentHandler
} {
  const { bad } = definitionReaders(kind)
  if (!isObject(options))
    throw bad('options', `an object, as in ${makerOf(kind)}({ ${key}, ${handler} })`, options)
  const given: Readonly<Record<string, unknown>> = options
  const { [key]: unique, name, timeout, title, description, icons, meta, scopes, session } = given
  if (!fits(unique)) throw bad(key, expected, unique)
  const read = definitionReaders(aboutNamed(kind, unique))
  read.checkFields(given, new Set([key, ...commonFields, ...fields, handler]))
  read.checkTexts({ title, description })
  const common = {
    name: (name === undefined ? undefined : read.readText(name, 'name')) as Name,
    title: title as string | undefined,
    description: description as string | undefined,
    icons: readIcons(read, icons),
    meta: readMeta(read, meta),
    scopes: readScopes(read, scopes),
    session: read.readFlag(session, 'session', false),
    timeout: read.readTimeout(timeout),
    isolated: readIsolated(read, given, handler),
  }
  const { isolated } = common
  const handle =
    isolated === undefined ? read.readFunction(given[handler], handler).bind(options) : runner(isolated)
  return { read, common, handle: handle as ComponentHandler }
}

/** `defineResourceTemplate` for `resource template`. */
function makerOf(kind: string): string {
  return `define${kind.replace(/(?:^| )(\w)/g, (_, first: string) => first.toUpperCase())}`
}

/** Reads where a handler runs. Throws BAD_DEFINITION, also for a module that is not there. */
function readIsolated(
  { about, bad }: DefinitionReaders,
  given: Readonly<Record<string, unknown>>,
  handler: string,
): IsolatedHandler | undefined {
  const { isolate, module } = given
  if (isolate === undefined && module === undefined) return undefined
  if (isolate !== 'thread' && isolate !== 'process') throw bad('isolate', "'thread' or 'process'", isolate)
  if (module === undefined)
    throw bad(
      'module',
      `the file: URL of a module whose default export is ${handler}, since a function cannot move to a ${isolate}: module: new URL('./heavy.js', import.meta.url)`,
      module,
    )
  if (given[handler] !== undefined)
    throw bad(handler, 'nothing beside module, whose default export it is', given[handler])
  const url = moduleUrl(module)
  if (url?.protocol !== 'file:')
    throw bad('module', "the file: URL of a module, as in new URL('./heavy.js', import.meta.url)", module)
  if (!existsSync(url)) throw definitionError(about, 'module', `module: ${url.href} is not there`)
  return Object.freeze({ kind: isolate, module: url.href })
}

/** The last argument of every handler is its context. */
function runner(isolated: IsolatedHandler): (...args: readonly unknown[]) => unknown {
  return (...args) => ToolContext.runIsolated(isolated, args.slice(0, -1), args.at(-1) as ToolContext)
}

/** Reads the icons of a component or a server. Throws BAD_DEFINITION. */
export function readIcons(read: DefinitionReaders, icons: unknown): readonly Readonly<Icon>[] | undefined {
  if (icons === undefined) return undefined
  if (!Array.isArray(icons)) throw read.bad('icons', 'an array of icons', icons)
  return Object.freeze(icons.map((icon, index) => readIcon(read, `icons[${index}]`, icon)))
}

/** Reads scopes, which are words (RFC 6749, section 3.3). Throws BAD_DEFINITION. */
export function readScopes({ bad }: DefinitionReaders, scopes: unknown): readonly string[] | undefined {
  if (scopes === undefined) return undefined
  const isScope = (scope: unknown) => typeof scope === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)
  if (!Array.isArray(scopes) || !scopes.every(isScope))
    throw bad('scopes', 'an array of words without spaces and quotes', scopes)
  return Object.freeze([...scopes])
}

const commonFields = [
  'name',
  'title',
  'description',
  'icons',
  'meta',
  'scopes',
  'session',
  'timeout',
  'isolate',
  'module',
]
const iconFields = new Set(['src', 'mimeType', 'sizes', 'theme'])

/** Icons from other sources could run code, or tell others who looks (specification: basic, icons). */
function readIcon(
  { about, bad, checkTexts }: DefinitionReaders,
  field: string,
  icon: unknown,
): Readonly<Icon> {
  if (!isObject(icon)) throw bad(field, 'an object with src', icon)
  definitionReaders(`${about}: ${field}`).checkFields(icon, iconFields)
  const { src, mimeType, sizes, theme } = icon
  if (typeof src !== 'string' || !/^(?:https|data):/i.test(src) || !URL.canParse(src))
    throw bad(`${field}.src`, 'a uri with https: or data:', src)
  checkTexts({ [`${field}.mimeType`]: mimeType })
  const areSizes = Array.isArray(sizes) && sizes.every((size) => /^(?:\d+x\d+|any)$/.test(String(size)))
  if (sizes !== undefined && !areSizes)
    throw bad(`${field}.sizes`, 'an array of sizes such as 48x48, or any', sizes)
  if (theme !== undefined && theme !== 'light' && theme !== 'dark')
    throw bad(`${field}.theme`, 'light or dark', theme)
  return Object.freeze({ ...icon, ...(areSizes && { sizes: Object.freeze([...sizes]) }) }) as Readonly<Icon>
}

function readMeta({ bad }: DefinitionReaders, meta: unknown): Readonly<Meta> | undefined {
  if (meta === undefined) return undefined
  if (!isObject(meta)) throw bad('meta', 'an object', meta)
  try {
    return deepFreeze(JSON.parse(JSON.stringify(meta)) as Meta)
  } catch {
    throw bad('meta', 'an object that has JSON', meta)
  }
}
