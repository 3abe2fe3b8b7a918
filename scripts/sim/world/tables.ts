import { TurnoverMap, TurnoverSet } from '../../../runtime/base/turnover.js'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { nodeTurn } from './native.js'
import { currentProgram, type Program } from './program.js'

/** How many entries the maps and sets of a program have, by the source of the library that made them. */
export type TableCounts = Readonly<Record<string, number>>

type Table = { readonly size: number } & object
type MakeTable = new (...args: never[]) => Table
type Put = (this: Table, ...args: unknown[]) => unknown

interface Held {
  readonly source: string
  /** Itself until the first count, which therefore depends on no collection of garbage. */
  table: Table | WeakRef<Table>
}

/** Takes down every map and set that the library makes for a program, until its end. */
export class Tables {
  readonly #held = new Map<Program, Held[]>()
  readonly #undo: (() => void)[] = []

  constructor() {
    this.#watch('Map', Map)
    this.#watch('Set', Set)
    this.#watchFirst(TurnoverMap.prototype, 'set')
    this.#watchFirst(TurnoverSet.prototype, 'add')
  }

  /** What a program has before anything was asked of it. */
  first(program: Program): TableCounts {
    const held = this.#held.get(program) ?? []
    const counts = countAll(held)
    for (const one of held) if (!(one.table instanceof WeakRef)) one.table = new WeakRef(one.table)
    return counts
  }

  /** What these programs have once garbage is collected. */
  async left(programs: readonly Program[]): Promise<readonly TableCounts[]> {
    for (const program of programs) this.first(program)
    // a reference that was looked at in this turn counts as used
    await nodeTurn()
    collect()
    return programs.map((program) => countAll(this.#held.get(program) ?? []))
  }

  /** What it had is garbage, or somebody else's. */
  forget(program: Program): void {
    this.#held.delete(program)
  }

  end(): void {
    for (const each of this.#undo) each()
    this.#held.clear()
  }

  #watch(name: 'Map' | 'Set', Real: MakeTable): void {
    const watched: MakeTable = new Proxy(Real, {
      construct: (target, args, made) => {
        const table = Reflect.construct(target, args, made === watched ? target : made) as Table
        this.#note(table)
        return table
      },
    })
    const put = (value: MakeTable): void =>
      void Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
    put(watched)
    this.#undo.push(() => put(Real))
  }

  /** One that has a table of Node for several entries only: it counts itself, from its first entry on. */
  #watchFirst<Name extends string>(prototype: Record<Name, Put>, name: Name): void {
    const put = prototype[name]
    const seen = new WeakSet<Table>()
    const note = (table: Table): void => {
      if (seen.has(table)) return
      seen.add(table)
      this.#note(table)
    }
    const watched: Put = function (...args) {
      note(this)
      return put.apply(this, args)
    }
    prototype[name] = watched as (typeof prototype)[Name]
    this.#undo.push(() => {
      prototype[name] = put
    })
  }

  #note(table: Table): void {
    const program = currentProgram()
    if (program === undefined || program.phase === 'dead') return
    const source = sourceNow()
    if (source === undefined) return
    const held = this.#held.get(program) ?? []
    if (held.length === 0) this.#held.set(program, held)
    held.push({ source, table: held[0]?.table instanceof WeakRef ? new WeakRef(table) : table })
  }
}

function countAll(held: readonly Held[]): TableCounts {
  const counts: Record<string, number> = {}
  for (const { source, table } of held) {
    const size = (table instanceof WeakRef ? table.deref()?.size : table.size) ?? 0
    if (size > 0) counts[source] = (counts[source] ?? 0) + size
  }
  return counts
}

const root = new URL('../../../', import.meta.url).href
/** An edition of a module with a planted bug (`a.1.js`) counts as the module. */
const library = new RegExp(`^${root}((?:runtime|protocol|transports|server|client)/.*?)(?:\\.\\d+)?\\.js$`)
/** Its maps and sets count themselves. */
const maker = 'runtime/base/turnover'

/** The source of the library that makes something now; undefined where somebody else does. */
function sourceNow(): string | undefined {
  const { prepareStackTrace, stackTraceLimit } = Error
  Error.stackTraceLimit = 8
  Error.prepareStackTrace = (_error, sites) => sites
  const sites = new Error().stack as unknown as readonly NodeJS.CallSite[]
  Error.stackTraceLimit = stackTraceLimit
  Error.prepareStackTrace = prepareStackTrace as typeof Error.prepareStackTrace
  for (const site of sites) {
    const file = site.getFileName() ?? ''
    if (file === import.meta.url) continue
    const source = library.exec(file)?.[1]
    return source === undefined || source === maker ? undefined : `${source}.ts`
  }
  return undefined
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
