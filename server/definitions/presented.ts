import { parseZoned } from '../../protocol/schema/fields/calendar.js'
import { isObject } from '../../protocol/wire/json.js'
import type { Annotations, Icon, Meta } from '../../protocol/messages/base.js'
import { badDefinition, checkFields, checkTexts, given } from './definition.js'
import type { Immutable } from './schema-arguments.js'

/** What may be said of a component of any kind. */
export interface Presented {
  /** A name for people. */
  readonly title?: string
  /** What it is for, for the model. */
  readonly description?: string
  /**
   * Pictures to show beside its name, from `https:` or `data:`; clients before 2025-11-25 are not sent them.
   */
  readonly icons?: readonly Immutable<Icon>[]
  /** Free data beside it in lists (`_meta`): any JSON object. */
  readonly meta?: Meta
  /**
   * What its caller's principal has to be allowed, all of it: to others it is in no list, and using it is
   * refused. Scopes are those of the listener's `auth` or `authenticate`. Default: nothing.
   */
  readonly scopes?: readonly string[]
  /**
   * Whether it needs a session (`ctx.get`, `ctx.update`, `ctx.session.id`). A server that has such a
   * component is served in the revisions that have sessions, unless its option `revisions` names 2026-07-28:
   * there it is in no list, and using it is refused with `NO_SESSION`. Default false.
   */
  readonly session?: boolean
}

/** The same, checked and frozen. */
export interface PresentedDefinition {
  readonly title: string | undefined
  readonly description: string | undefined
  readonly icons: readonly Readonly<Icon>[] | undefined
  readonly meta: Readonly<Meta> | undefined
  readonly scopes: readonly string[] | undefined
  readonly session: boolean
}

/** The names of these fields. */
export const presentedFields = ['title', 'description', 'icons', 'meta', 'scopes', 'session'] as const

/** Reads what is said of a component. Throws BAD_DEFINITION, naming the field. */
export function readPresented(
  about: string,
  options: Readonly<Record<string, unknown>>,
): PresentedDefinition {
  const { title, description, icons, meta, scopes, session } = options
  checkTexts(about, { title, description })
  return {
    title: title as string | undefined,
    description: description as string | undefined,
    icons: readIcons(about, icons),
    meta: readMeta(about, meta),
    scopes: readScopes(about, scopes),
    session: readSession(about, session),
  }
}

/** What a list shows of it, beside what comes before: the fields that are there. */
export function shownLast({ icons, meta }: Pick<PresentedDefinition, 'icons' | 'meta'>): {
  icons?: Icon[]
  _meta?: Meta
} {
  return given({ icons: icons as Icon[] | undefined, _meta: meta as Meta | undefined })
}

/** Reads icons, of a component or a server. Throws BAD_DEFINITION. */
export function readIcons(about: string, icons: unknown): readonly Readonly<Icon>[] | undefined {
  if (icons === undefined) return undefined
  if (!Array.isArray(icons)) throw badDefinition(about, 'icons', 'an array of icons', icons)
  return Object.freeze(icons.map((icon, index) => readIcon(about, `icons[${index}]`, icon)))
}

/** Reads the hints about a resource's contents. Throws BAD_DEFINITION. */
export function readHints(about: string, hints: unknown): Readonly<Annotations> | undefined {
  if (hints === undefined) return undefined
  if (!isObject(hints)) throw badDefinition(about, 'annotations', 'an object', hints)
  checkFields(`${about}: annotations`, hints, hintFields)
  const { audience, priority, lastModified } = hints
  const isAudience = Array.isArray(audience) && audience.every((who) => who === 'user' || who === 'assistant')
  if (audience !== undefined && !isAudience)
    throw badDefinition(about, 'annotations.audience', 'an array of user and assistant', audience)
  if (priority !== undefined && !(typeof priority === 'number' && priority >= 0 && priority <= 1))
    throw badDefinition(about, 'annotations.priority', 'a number from 0 to 1', priority)
  const isMoment = typeof lastModified === 'string' && parseZoned(lastModified) !== undefined
  if (lastModified !== undefined && !isMoment)
    throw badDefinition(
      about,
      'annotations.lastModified',
      'a moment such as 2025-01-12T15:00:58Z',
      lastModified,
    )
  return Object.freeze({
    ...hints,
    ...(isAudience && { audience: Object.freeze([...audience]) }),
  }) as Readonly<Annotations>
}

const hintFields = new Set(['audience', 'priority', 'lastModified'])
const iconFields = new Set(['src', 'mimeType', 'sizes', 'theme'])

/**
 * Other sources could run code where they are shown, or tell others who looks (specification: basic, icons).
 */
function readIcon(about: string, field: string, icon: unknown): Readonly<Icon> {
  if (!isObject(icon)) throw badDefinition(about, field, 'an object with src', icon)
  checkFields(`${about}: ${field}`, icon, iconFields)
  const { src, mimeType, sizes, theme } = icon
  if (typeof src !== 'string' || !/^(?:https|data):/i.test(src) || !URL.canParse(src))
    throw badDefinition(about, `${field}.src`, 'a uri with https: or data:', src)
  checkTexts(about, { [`${field}.mimeType`]: mimeType })
  const areSizes = Array.isArray(sizes) && sizes.every((size) => /^(?:\d+x\d+|any)$/.test(String(size)))
  if (sizes !== undefined && !areSizes)
    throw badDefinition(about, `${field}.sizes`, 'an array of sizes such as 48x48, or any', sizes)
  if (theme !== undefined && theme !== 'light' && theme !== 'dark')
    throw badDefinition(about, `${field}.theme`, 'light or dark', theme)
  return Object.freeze({ ...icon, ...(areSizes && { sizes: Object.freeze([...sizes]) }) }) as Readonly<Icon>
}

function readMeta(about: string, meta: unknown): Readonly<Meta> | undefined {
  if (meta === undefined) return undefined
  if (!isObject(meta)) throw badDefinition(about, 'meta', 'an object', meta)
  try {
    return freeze(JSON.parse(JSON.stringify(meta)) as Meta)
  } catch {
    throw badDefinition(about, 'meta', 'an object that has JSON', meta)
  }
}

/** Reads scopes, words as RFC 6749, section 3.3, has them. Throws BAD_DEFINITION. */
export function readScopes(about: string, scopes: unknown): readonly string[] | undefined {
  if (scopes === undefined) return undefined
  const isScope = (scope: unknown) => typeof scope === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)
  if (!Array.isArray(scopes) || !scopes.every(isScope))
    throw badDefinition(about, 'scopes', 'an array of words without spaces and quotes', scopes)
  return Object.freeze([...scopes])
}

/** Reads whether a session is needed. Throws BAD_DEFINITION. */
export function readSession(about: string, session: unknown = false): boolean {
  if (typeof session !== 'boolean') throw badDefinition(about, 'session', 'true or false', session)
  return session
}

function freeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) freeze(inner)
  return Object.freeze(value)
}
