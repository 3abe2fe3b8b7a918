import type MiniSearch from 'minisearch'
import { isObject } from '../../protocol/wire/json.js'
import { lazy } from '../../runtime/faults/load.js'

/** A tool as lists show it, as far as it is searched. */
export interface Searchable {
  readonly name: string
  /** Whose it is: one server has so many words at most. */
  readonly server?: string | undefined
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly inputSchema?: unknown
}

type SearchEngine = typeof MiniSearch

const load = /* @__PURE__ */ lazy('minisearch', () => import('minisearch'))

/** Loaded by the first search: most servers have none. */
export async function loadSearchEngine(): Promise<SearchEngine> {
  // required, the module is the class itself
  const loaded: { readonly default?: SearchEngine } = await load()
  return loaded.default ?? (loaded as SearchEngine)
}

const fields = ['words', 'title', 'description', 'parameters']
/** Characters of a text that are searched. */
const maxText = 4_000
/**
 * Characters and words of a query that are looked at: each different word costs a search of all that is like
 * it.
 */
const maxQuery = 1_000
const maxWords = 20
const maxWordLength = 32
/** Letters of a word that longer words may begin with: fewer begin too many. */
const shortestPrefix = 3

/**
 * Different words of a tool, and of all tools of a server, that are searched: a word of a query may begin
 * them all, and looks at each.
 */
const mostOfTool = 200
const mostOfServer = 20_000
/** Characters that are read in one turn of the event loop: words that differ cost most. */
const perTurn = 8_000
/** What a tool costs besides, in such characters. */
const perTool = 40

/** The words of tools. Others have their turns while it is made, and between the words of a search. */
export class ToolIndex {
  readonly #engine: MiniSearch

  constructor(engine: MiniSearch) {
    this.#engine = engine
  }

  /** Of tools of one name the first is there. `turn` resolves when it may go on. */
  static async of(
    Engine: SearchEngine,
    tools: Iterable<Searchable>,
    turn: () => Promise<void>,
  ): Promise<ToolIndex> {
    const engine = new Engine({
      idField: 'name',
      fields,
      tokenize: wordsOf,
      searchOptions: {
        boost: { words: 4, title: 2 },
        prefix: (word) => word.length >= shortestPrefix,
        fuzzy: 0.2,
        // letters that may be wrong: each more costs many times as much
        maxFuzzy: 2,
      },
    })
    let room = 0
    const counts = new Map<string, number>()
    for (const { name, server = '', title = '', description = '', inputSchema } of tools) {
      if (engine.has(name)) continue
      if (room <= 0) {
        await turn()
        room = perTurn
      }
      const own = new Set<string>()
      const left = Math.min(mostOfTool, mostOfServer - (counts.get(server) ?? 0))
      const kept = (text: string): string =>
        wordsOf(text.slice(0, maxText))
          .filter((word) => own.has(word) || (own.size < left && own.add(word)))
          .join(' ')
      const texts = [name, title, description, parametersIn(inputSchema)]
      engine.add({
        name,
        words: kept(name) || name,
        title: kept(title),
        description: kept(description),
        parameters: kept(parametersIn(inputSchema)),
      })
      counts.set(server, (counts.get(server) ?? 0) + own.size)
      room -= texts.reduce((sum, text) => sum + Math.min(text.length, maxText), perTool)
    }
    return new ToolIndex(engine)
  }

  /** The names of the tools that fit, best first: those with all words before those with some. */
  async search(query: string, limit: number, turn: () => Promise<void>): Promise<string[]> {
    const given = wordsOf(query.slice(0, maxQuery)).map((word) => word.slice(0, maxWordLength))
    const words = [...new Set(given)].slice(0, maxWords)
    const found = new Map<string, { words: number; score: number }>()
    for (const word of words) {
      await turn()
      for (const { id, score } of this.#engine.search(word)) {
        const before = found.get(id) ?? { words: 0, score: 0 }
        found.set(id, { words: before.words + 1, score: before.score + score })
      }
    }
    const isWhole = (name: string): boolean => found.get(name)?.words === words.length
    const scoreOf = (name: string): number => found.get(name)?.score ?? 0
    return [...found.keys()]
      .sort((one, other) => Number(isWhole(other)) - Number(isWhole(one)) || scoreOf(other) - scoreOf(one))
      .slice(0, limit)
  }
}

/** `read_file`, `readFile` and `files__read-file` have the same words. */
export function wordsOf(text: string): string[] {
  const parts = text.replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2').toLowerCase()
  return parts.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '')
}

function parametersIn(schema: unknown): string {
  if (!isObject(schema) || !isObject(schema.properties)) return ''
  return Object.entries(schema.properties)
    .map(([name, property]) =>
      isObject(property) && typeof property.description === 'string'
        ? `${name} ${property.description}`
        : name,
    )
    .join(' ')
}
