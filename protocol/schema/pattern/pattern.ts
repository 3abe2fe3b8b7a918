import { type PatternNode, parsePattern } from './parse.js'
import { type Automaton, compileAutomaton, type Program, positionBits } from './program.js'

/** A regular expression that never backtracks: its time is linear in the text. */
export interface LinearPattern {
  test(text: string): boolean
  toString(): string
}

/** Called with the work just done, about 20 ns a unit; may throw to stop it. */
export type Spend = (units: number) => void

interface State {
  readonly places: readonly number[]
  readonly moves: Map<number, Move>
}

interface Move {
  readonly accepted: boolean
  readonly next: State
}

const noCharacter = 0x110000
const maxMoves = 10_000

/**
 * A matcher for the source of a regular expression, with the flag `u` where that is possible. Returns a
 * sentence where there can be none: a syntax error, a backreference, a program too large.
 */
export function compilePattern(source: string, spend: Spend): LinearPattern | string {
  const flags = flagsOf(source)
  if (flags === undefined) return 'is not a regular expression'
  const tree = parsePattern(source, flags === 'u')
  if (tree === undefined) return 'has a backreference or another part that cannot be matched in linear time'
  if (isPlain(tree)) return new RegExp(source, flags)
  const automaton = compileAutomaton(tree)
  if (automaton === undefined) return 'is too large once its repetitions are written out'
  return createMatcher(automaton, flags, { source, spend })
}

function flagsOf(source: string): string | undefined {
  return ['u', ''].find((flags) => {
    try {
      return new RegExp(source, flags)
    } catch {
      return false // tried with the other flags, then reported
    }
  })
}

/** Anchored characters, one repeated at most: linear in RegExp, too, which is quicker. */
function isPlain(tree: PatternNode): boolean {
  if (tree.type !== 'sequence') return false
  const [first, ...rest] = tree.parts
  const repeated = rest.filter(({ type }) => type === 'repeat')
  const isSimple = ({ type }: PatternNode) => type === 'atom' || type === 'assert'
  return (
    first?.type === 'assert' &&
    first.kind === 'start' &&
    repeated.length <= 1 &&
    rest.every((part) => isSimple(part) || (part.type === 'repeat' && isSimple(part.body)))
  )
}

function createMatcher(
  { atoms, looks, main, anchored, words }: Automaton,
  flags: string,
  { source, spend }: { source: string; spend: Spend },
): LinearPattern {
  const tests = atoms.map((atom) => new RegExp(`^(?:${atom})$`, flags))
  const matches = (atom: number, character: number) =>
    tests[atom]?.test(String.fromCodePoint(character)) ?? false
  const runMain = createRunner(main, { matches, spend, restarts: !anchored })
  const runLooks = looks.map(({ program }) => createRunner(program, { matches, spend, restarts: true }))

  function test(text: string): boolean {
    const characters = readCharacters(text, flags === 'u')
    const facts = basicFacts(characters, words)
    for (const [index, { ahead, negative }] of looks.entries()) {
      const bit = positionBits.firstLook << index
      const found = new Uint8Array(facts.length)
      const onMatch = (at: number) => {
        found[at] = 1
      }
      runLooks[index]?.(characters, facts, { forward: !ahead, onMatch })
      for (let at = 0; at < facts.length; at++) {
        if ((found[at] === 1) !== negative) facts[at] = (facts[at] ?? 0) | bit
      }
    }
    let matched = false
    runMain(characters, facts, {
      forward: true,
      onMatch: () => {
        matched = true
        return 'stop'
      },
    })
    return matched
  }

  return { test, toString: () => `/${source}/${flags}` }
}

interface RunOptions {
  readonly forward: boolean
  readonly onMatch: (at: number) => unknown
}

/** Runs all threads of a program at once over a text; sets of threads are kept as states (a lazy DFA). */
function createRunner(
  { code, entry }: Program,
  {
    matches,
    spend,
    restarts,
  }: { matches: (atom: number, character: number) => boolean; spend: Spend; restarts: boolean },
) {
  let states = new Map<string, State>()
  let moves = 0

  function run(characters: Uint32Array, facts: Uint32Array, { forward, onMatch }: RunOptions): void {
    const last = characters.length
    let state = stateOf([entry])
    for (let step = 0; step <= last; step++) {
      const at = forward ? step : last - step
      const character = step === last ? noCharacter : (characters[forward ? at : at - 1] ?? noCharacter)
      const move = findMove(state, facts[at] ?? 0, character)
      if (move.accepted && onMatch(at) === 'stop') return
      state = move.next
      if (state.places.length === 0) return
    }
  }

  function findMove(state: State, facts: number, character: number): Move {
    const key = facts * (noCharacter + 1) + character
    const known = state.moves.get(key)
    spend(2)
    if (known !== undefined) return known
    if (++moves > maxMoves) forget()
    const move = makeMove(state, facts, character)
    state.moves.set(key, move)
    return move
  }

  function makeMove(state: State, facts: number, character: number): Move {
    const reached = new Set(state.places)
    const next = new Set<number>(restarts ? [entry] : [])
    let accepted = false
    for (const place of reached) {
      const instruction = code[place]
      if (instruction === undefined) continue
      if (instruction.op === 'match') accepted = true
      else if (instruction.op === 'split') for (const way of instruction.next) reached.add(way)
      else if (instruction.op === 'assert') {
        if ((facts & instruction.mask) === instruction.value) reached.add(instruction.next)
      } else if (character !== noCharacter && matches(instruction.atom, character)) next.add(instruction.next)
    }
    spend(reached.size)
    return { accepted, next: stateOf([...next].sort((a, b) => a - b)) }
  }

  function stateOf(places: readonly number[]): State {
    const key = places.join(' ')
    const known = states.get(key)
    if (known !== undefined) return known
    const state = { places, moves: new Map() }
    states.set(key, state)
    return state
  }

  function forget(): void {
    states = new Map()
    moves = 0
  }

  return run
}

function basicFacts(characters: Uint32Array, words: boolean): Uint32Array {
  const { start, end } = positionBits
  const facts = new Uint32Array(characters.length + 1)
  if (words) addWords(facts, characters)
  facts[0] = (facts[0] ?? 0) | start
  facts[characters.length] = (facts[characters.length] ?? 0) | end
  return facts
}

function addWords(facts: Uint32Array, characters: Uint32Array): void {
  const { leftWord, rightWord } = positionBits
  for (const [index, character] of characters.entries()) {
    if (!isWord(character)) continue
    facts[index] = (facts[index] ?? 0) | rightWord
    facts[index + 1] = leftWord
  }
}

function isWord(character: number): boolean {
  const isDigit = character >= 0x30 && character <= 0x39
  const isUpper = character >= 0x41 && character <= 0x5a
  const isLower = character >= 0x61 && character <= 0x7a
  return isDigit || isUpper || isLower || character === 0x5f
}

function readCharacters(text: string, unicode: boolean): Uint32Array {
  const characters = new Uint32Array(text.length)
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const character = unicode ? (text.codePointAt(at) ?? 0) : text.charCodeAt(at)
    characters[count++] = character
    if (character > 0xffff) at++ // two code units
  }
  return characters.subarray(0, count)
}
