import type { Node, Pair } from 'yaml'
import { ProtocolError } from '../wire/errors.js'
import { lazy } from '../wire/load.js'

/** Levels of lists and mappings inside each other. */
const maxDepth = 32
/** What the library says of a text that has `: ` in it, in words for who wrote it. */
const textNotMapping = 'a text with ": " in it has to stand in quotes'
const loadYaml = /* @__PURE__ */ lazy('yaml', () => import('yaml'))

/**
 * Reads the YAML that stands in front of a `SKILL.md`: one mapping, by the core schema of YAML 1.2. Anchors,
 * aliases, tags and keys that are no texts are not read, nor is a key that stands twice. Loads the package `yaml`
 * at the first call. Rejects with BAD_FRONT_MATTER, naming the line, counted from `firstLine`.
 */
export async function readYaml(text: string, firstLine = 1): Promise<{ [key: string]: unknown }> {
  const { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } = await loadYaml()
  const lineCounter = new LineCounter()
  const { contents, errors } = parseDocument(text, {
    schema: 'core',
    stringKeys: true,
    uniqueKeys: false, // it compares every two keys: read() finds them in linear time
    prettyErrors: false,
    keepSourceTokens: true,
    lineCounter,
  })
  const [error] = errors
  if (error !== undefined)
    throw bad(/^Nested mappings/.test(error.message) ? textNotMapping : error.message, error.pos[0])
  if (contents === null) return {}
  if (!isMap(contents)) throw bad('expected fields such as name: value', contents.range[0])
  return read(contents, 0) as { [key: string]: unknown }

  function read(node: Node | null, depth: number): unknown {
    if (node === null) return null
    const at = node.range?.[0] ?? 0
    if (isAlias(node) || hasProperties(node)) throw bad('anchors, aliases and tags are not read here', at)
    if (depth > maxDepth) throw bad(`more than ${maxDepth} levels`, at)
    if (isSeq<Node>(node)) return node.items.map((item) => read(item, depth + 1))
    if (isMap<Node, Node | null>(node)) return readPairs(node.items, depth, at)
    const value = isScalar(node) ? node.value : undefined
    if (typeof value === 'number' && !Number.isFinite(value))
      throw bad(`JSON does not have the number ${text.slice(...(node.range ?? []))}`, at)
    return value
  }

  function readPairs(pairs: readonly Pair<Node, Node | null>[], depth: number, at: number): object {
    const entries = new Map<string, unknown>()
    for (const { key, value, srcToken } of pairs) {
      const isMarked = srcToken?.start.some(({ type }) => type === 'explicit-key-ind') === true // `? key`
      const name = isMarked ? undefined : read(key, depth)
      const place = key.range?.[0] ?? at
      if (typeof name !== 'string' || name === '<<')
        throw bad(`the key ${String(name)} is not read here`, place)
      if (entries.has(name)) throw bad(`the field ${JSON.stringify(name)} stands twice`, place)
      entries.set(name, read(value, depth + 1))
    }
    return Object.fromEntries(entries)
  }

  function bad(problem: string, offset: number): ProtocolError {
    const line = lineCounter.linePos(offset).line + firstLine - 1
    return new ProtocolError('BAD_FRONT_MATTER', `line ${line}: ${problem}`)
  }
}

function hasProperties(node: Node): boolean {
  return node.tag !== undefined || ('anchor' in node && node.anchor !== undefined)
}
