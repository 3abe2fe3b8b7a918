import { partsOf } from '../../protocol/wire/codec.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import type { Result } from '../../protocol/messages/methods.js'
import type { Peer } from '../../transports/contract/contract.js'
import { type Guarded, isAllowed } from '../context/scopes.js'
import type { Catalog } from './catalog.js'
import { badCursor, type Cursors } from './cursors.js'
import { type Immediate, immediate } from './immediate.js'
import type { Relayed } from '../definitions/relayed.js'
import { isUsable, type MayNeedSession } from '../definitions/session-needs.js'

type ListMethod =
  | 'tools/list'
  | 'resources/list'
  | 'resources/templates/list'
  | 'prompts/list'
  | 'skills/list'
  | 'resources/directory/read'

interface ShelfPlan<Component, M extends ListMethod> {
  readonly method: M
  /** What its cursors are of. */
  readonly of?: string
  key(component: Component): string
  list(components: readonly Component[]): Result<M>
}

export interface ShelfSettings {
  readonly pageSize: number
  readonly cursors: Cursors
  readonly catalog: Pick<Catalog, 'finish' | 'privately'>
}

interface Viewer {
  readonly dialect: Dialect
  readonly peer: Peer
}

/** What peers see whose scopes make the same difference here. */
interface View<Component, M extends ListMethod> {
  readonly components: readonly Component[]
  readonly pages: Map<Dialect, Map<number, Immediate<Result<M>>>>
}

interface MayBeRelayed {
  readonly relayed?: Pick<Relayed, 'entry' | 'through'> | undefined
}

/** Characters of one page, as JSON, and values and names in it: clients read more, but not much more. */
const maxPageText = 2 * 1024 * 1024
const maxPageValues = 100_000
const maxPageNames = 40_000
/** Views that are kept: one for each set of scopes in use. */
const maxViews = 64

/**
 * The components of one kind. Pages of their list are written once for each revision and view, until a
 * change.
 */
export class Shelf<Component extends Guarded & MayNeedSession & MayBeRelayed, M extends ListMethod> {
  readonly #plan: ShelfPlan<Component, M>
  readonly #settings: ShelfSettings
  #components: ReadonlyMap<string, Component>
  /** The place of each by key, counted from 1 and never used again: additions and removals move no other. */
  readonly #places = new Map<string, number>()
  #lastPlace = 0
  /** Each set of scopes that a component requires, once. */
  #guards: readonly Guarded[] = []
  /** By the guards that a peer passes; the one used last comes last. */
  #views = new Map<string, View<Component, M>>()

  constructor(plan: ShelfPlan<Component, M>, components: readonly Component[], settings: ShelfSettings) {
    this.#plan = plan
    this.#settings = settings
    this.#components = new Map(components.map((component) => [plan.key(component), component]))
    for (const key of this.#components.keys()) this.#place(key)
    this.#guards = guardsOf(components)
  }

  get(key: string): Component | undefined {
    return this.#components.get(key)
  }

  /** In the order they were added. */
  all(): Iterable<Component> {
    return this.#components.values()
  }

  get isGuarded(): boolean {
    return this.#guards.length > 0
  }

  /** A page of what this viewer may see. Throws McpError -32602 for a cursor of another list. */
  page(cursor: string | undefined, { dialect, peer }: Viewer): Immediate<Result<M>> {
    const view = this.#viewOf(peer)
    const pages = view.pages.get(dialect) ?? new Map<number, Immediate<Result<M>>>()
    const after = cursor === undefined ? 0 : this.#find(cursor, view)
    const known = pages.get(after)
    if (known !== undefined) return known
    const page = this.#write(after, dialect, view)
    view.pages.set(dialect, pages.set(after, page))
    return page
  }

  /** False when the key is taken. */
  add(component: Component): boolean {
    const key = this.#plan.key(component)
    if (this.#components.has(key)) return false
    this.#place(key)
    this.#change(new Map([...this.#components, [key, component]]))
    return true
  }

  remove(key: string): boolean {
    if (!this.#components.has(key)) return false
    this.#places.delete(key)
    this.#change(new Map([...this.#components].filter(([other]) => other !== key)))
    return true
  }

  /** Takes away, and adds, many at once; one that stays keeps its place. Answers those whose key is taken. */
  swap(removed: readonly string[], added: readonly Component[]): Component[] {
    const gone = new Set(removed)
    const come = new Map(added.map((component) => [this.#plan.key(component), component]))
    const refused = added.filter((component) => {
      const key = this.#plan.key(component)
      return come.get(key) !== component || (this.#components.has(key) && !gone.has(key))
    })
    for (const component of refused)
      if (come.get(this.#plan.key(component)) === component) come.delete(this.#plan.key(component))
    const components = new Map<string, Component>()
    for (const [key, component] of this.#components) {
      const next = gone.has(key) ? come.get(key) : component
      if (next !== undefined) components.set(key, next)
      else this.#places.delete(key)
    }
    for (const [key, component] of come) {
      if (!components.has(key)) this.#place(key)
      components.set(key, component)
    }
    this.#change(components)
    return refused
  }

  get #list(): string {
    const { method, of } = this.#plan
    return of === undefined ? method : `${method} ${of}`
  }

  #viewOf(peer: Peer): View<Component, M> {
    // only the guards that it passes matter, not the other scopes of its token
    const key = this.#guards.map((guard) => (isAllowed(peer, guard) ? '1' : '0')).join('')
    const known = this.#views.get(key)
    const view = known ?? { components: this.#visible(peer), pages: new Map() }
    if (known !== undefined && this.#guards.length === 0) return known
    this.#views.delete(key)
    this.#views.set(key, view)
    const [oldest = key] = this.#views.keys()
    if (this.#views.size > maxViews) this.#views.delete(oldest)
    return view
  }

  #visible(peer: Peer): readonly Component[] {
    return [...this.#components.values()].filter((component) => isAllowed(peer, component))
  }

  #place(key: string): void {
    this.#lastPlace += 1
    this.#places.set(key, this.#lastPlace)
  }

  /** The place after which a list continues: for a cursor of another program, the place of its key here. */
  #find(cursor: string, { components }: View<Component, M>): number {
    const { place, key, isOurs } = this.#settings.cursors.read(this.#list, cursor)
    if (isOurs && place !== undefined) return place
    // a key that was made up must not say what there is beyond what its viewer sees
    const seen = components.some((component) => this.#plan.key(component) === key)
    const after = seen ? this.#places.get(key) : place
    if (after === undefined) throw badCursor()
    return after
  }

  #placeOf(component: Component): number {
    return this.#places.get(this.#plan.key(component)) ?? 0
  }

  #write(after: number, dialect: Dialect, { components }: View<Component, M>): Immediate<Result<M>> {
    const { pageSize, catalog, cursors } = this.#settings
    const rest = components.filter(
      (component) => this.#placeOf(component) > after && isUsable(dialect, component),
    )
    const items = this.#pageOf(rest, pageSize)
    const last = rest.length > items.length ? items.at(-1) : undefined
    const nextCursor =
      last && cursors.write(this.#list, { place: this.#placeOf(last), key: this.#plan.key(last) })
    const listed = this.#plan.list(items)
    const whole: Result<M> = nextCursor === undefined ? listed : { ...listed, nextCursor }
    const cache = this.isGuarded ? catalog.privately(undefined) : undefined
    return immediate(catalog.finish(dialect, this.#plan.method, whole, cache))
  }

  /**
   * The first ones that go into one page: one that is longer than a message may be would be no page, for
   * everybody.
   */
  #pageOf(rest: readonly Component[], pageSize: number): readonly Component[] {
    const items = rest.slice(0, pageSize)
    const written = items.map((item) => JSON.stringify(item.relayed?.entry ?? this.#plan.list([item])))
    let text = 0
    let values = 0
    let names = 0
    // there are no more of them than characters
    const isShort = written.reduce((sum, { length }) => sum + length, 0) <= maxPageNames
    const end = isShort
      ? -1
      : written.findIndex((entry) => {
          const parts = partsOf(entry)
          text += entry.length
          values += parts.values
          names += parts.names
          return text > maxPageText || values > maxPageValues || names > maxPageNames
        })
    return end < 0 ? items : items.slice(0, Math.max(1, end))
  }

  #change(components: ReadonlyMap<string, Component>): void {
    this.#components = components
    this.#guards = guardsOf([...components.values()])
    this.#views = new Map()
  }
}

function guardsOf(components: readonly Guarded[]): readonly Guarded[] {
  const guards = new Map<string, Guarded>()
  for (const { scopes = [] } of components) if (scopes.length > 0) guards.set(scopes.join(' '), { scopes })
  return [...guards.values(), ...components.filter(({ permits }) => permits !== undefined)]
}
