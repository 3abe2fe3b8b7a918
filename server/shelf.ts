import type { Dialect } from '../protocol/dialect.js'
import { fitResult } from '../protocol/fit.js'
import type { Result } from '../protocol/methods.js'
import { paginate } from '../protocol/page.js'

/** The requests for a page of a list. */
export type ListMethod = 'tools/list' | 'resources/list' | 'resources/templates/list' | 'prompts/list'

/** One page of a list with its JSON text. */
export interface PreparedPage<M extends ListMethod = ListMethod> {
  readonly result: Result<M>
  readonly text: string
}

/** How one kind of component is kept and shown. */
export interface ShelfPlan<Component, M extends ListMethod> {
  readonly method: M
  /** What no two of them share. */
  key(component: Component): string
  /** The result that shows them. */
  list(components: readonly Component[]): Result<M>
}

/** The components of one kind; pages of their list are written out once for each revision, and kept until a change. */
export class Shelf<Component, M extends ListMethod> {
  readonly #plan: ShelfPlan<Component, M>
  readonly #pageSize: number
  #components: ReadonlyMap<string, Component>
  #pages = new Map<Dialect, Map<string | undefined, PreparedPage<M>>>()

  constructor(plan: ShelfPlan<Component, M>, components: readonly Component[], pageSize: number) {
    this.#plan = plan
    this.#pageSize = pageSize
    this.#components = new Map(components.map((component) => [plan.key(component), component]))
  }

  get(key: string): Component | undefined {
    return this.#components.get(key)
  }

  /** In the order they were added. */
  all(): Iterable<Component> {
    return this.#components.values()
  }

  /** Throws McpError -32602 for a cursor that is not of this list. */
  page(cursor: string | undefined, dialect: Dialect): PreparedPage<M> {
    const pages = this.#pages.get(dialect) ?? new Map<string | undefined, PreparedPage<M>>()
    const known = pages.get(cursor)
    if (known !== undefined) return known
    const page = this.#write(cursor, dialect)
    this.#pages.set(dialect, pages.set(cursor, page))
    return page
  }

  /** False when the key is taken. */
  add(component: Component): boolean {
    const key = this.#plan.key(component)
    if (this.#components.has(key)) return false
    this.#change(new Map([...this.#components, [key, component]]))
    return true
  }

  /** False when there is no such component. */
  remove(key: string): boolean {
    if (!this.#components.has(key)) return false
    this.#change(new Map([...this.#components].filter(([other]) => other !== key)))
    return true
  }

  #write(cursor: string | undefined, dialect: Dialect): PreparedPage<M> {
    const { items, nextCursor } = paginate([...this.#components.values()], cursor, this.#pageSize)
    const listed = this.#plan.list(items)
    const whole: Result<M> = nextCursor === undefined ? listed : { ...listed, nextCursor }
    const result = fitResult(dialect, this.#plan.method, whole)
    return { result, text: JSON.stringify(result) }
  }

  #change(components: ReadonlyMap<string, Component>): void {
    this.#components = components
    this.#pages = new Map()
  }
}
