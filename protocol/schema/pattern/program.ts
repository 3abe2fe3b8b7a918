import type { PatternNode } from './parse.js'

/** A place in a program: takes a character, goes on several ways or where an assertion holds, or ends. */
type Instruction =
  | { readonly op: 'atom'; readonly atom: number; readonly next: number }
  | { readonly op: 'split'; readonly next: readonly number[] }
  | { readonly op: 'assert'; readonly mask: number; readonly value: number; readonly next: number }
  | { readonly op: 'match' }

/** A nondeterministic automaton without captures; `entry` is where it starts. */
export interface Program {
  readonly code: readonly Instruction[]
  readonly entry: number
}

/** A lookaround: where it holds is computed first, as one bit per position. */
interface Look {
  readonly program: Program
  readonly ahead: boolean
  readonly negative: boolean
}

/** A whole expression: its atoms, its lookarounds from the inside out, and the program that uses both. */
export interface Automaton {
  readonly atoms: readonly string[]
  readonly looks: readonly Look[]
  readonly main: Program
  /** Matches can only begin at the start of the text. */
  readonly anchored: boolean
  /** Whether it asks for word boundaries, which then have to be found. */
  readonly words: boolean
}

/** Facts about a position in the text, as bits; lookarounds take the bits from `firstLook` on. */
export const positionBits = Object.freeze({ start: 1, end: 2, leftWord: 4, rightWord: 8, firstLook: 16 })

const maxInstructions = 10_000
const maxLooks = 16

/** Translates a tree; undefined when the program would be too large (10,000 places, 16 lookarounds). */
export function compileAutomaton(tree: PatternNode): Automaton | undefined {
  const atoms: string[] = []
  const looks: Look[] = []
  const lookIndexes = new Map<PatternNode, number>()
  let spent = 0
  let words = false

  function translate(node: PatternNode, forward: boolean): Program {
    const code: Instruction[] = [{ op: 'match' }]

    function add(instruction: Instruction): number {
      if (++spent > maxInstructions) throw tooLarge
      return code.push(instruction) - 1
    }

    /** The place where `part` begins when `next` is where it goes on. */
    function emit(part: PatternNode, next: number): number {
      switch (part.type) {
        case 'atom':
          return add({ op: 'atom', atom: indexOf(part.source), next })
        case 'assert':
          return emitAssert(part.kind, next)
        case 'look':
          return emitLook(part, next)
        case 'sequence':
          return forward
            ? part.parts.reduceRight((after, item) => emit(item, after), next)
            : part.parts.reduce((after, item) => emit(item, after), next)
        case 'choice':
          return add({ op: 'split', next: part.options.map((option) => emit(option, next)) })
        case 'repeat':
          return emitRepeat(part, next)
        default:
          return part satisfies never
      }
    }

    function emitAssert(kind: 'start' | 'end' | 'word' | 'not_word', next: number): number {
      const { start, end, leftWord, rightWord } = positionBits
      if (kind === 'start' || kind === 'end') {
        const bit = kind === 'start' ? start : end
        return add({ op: 'assert', mask: bit, value: bit, next })
      }
      words = true
      const mask = leftWord | rightWord
      const values = kind === 'word' ? [leftWord, rightWord] : [0, mask]
      return add({ op: 'split', next: values.map((value) => add({ op: 'assert', mask, value, next })) })
    }

    function emitLook(look: PatternNode & { type: 'look' }, next: number): number {
      const bit = positionBits.firstLook << indexOfLook(look)
      return add({ op: 'assert', mask: bit, value: bit, next })
    }

    function emitRepeat({ body, min, max }: PatternNode & { type: 'repeat' }, next: number): number {
      let entry = max === Number.POSITIVE_INFINITY ? emitLoop(body, next) : next
      if (max !== Number.POSITIVE_INFINITY) {
        for (let left = max - min; left > 0; left--)
          entry = add({ op: 'split', next: [emit(body, entry), next] })
      }
      for (let left = min; left > 0; left--) entry = add({ op: 'split', next: [emit(body, entry)] })
      return entry
    }

    function emitLoop(body: PatternNode, next: number): number {
      const loop = add({ op: 'match' }) // replaced below: the body has to know where it returns to
      code[loop] = { op: 'split', next: [emit(body, loop), next] }
      return loop
    }

    return { entry: emit(node, 0), code }
  }

  /** A repeated lookaround is translated once: it says the same of a position every time. */
  function indexOfLook(look: PatternNode & { type: 'look' }): number {
    const known = lookIndexes.get(look)
    if (known !== undefined) return known
    const { ahead, negative, body } = look
    const program = translate(body, !ahead) // a look ahead is computed from the end of the text
    const index = looks.push({ program, ahead, negative }) - 1
    if (looks.length > maxLooks) throw tooLarge
    lookIndexes.set(look, index)
    return index
  }

  function indexOf(source: string): number {
    const known = atoms.indexOf(source)
    return known === -1 ? atoms.push(source) - 1 : known
  }

  try {
    const main = translate(tree, true)
    return { main, atoms, looks, words, anchored: isAnchored(tree) }
  } catch (error) {
    if (error === tooLarge) return undefined
    throw error
  }
}

const tooLarge = new RangeError('pattern too large')

function isAnchored(tree: PatternNode): boolean {
  if (tree.type !== 'sequence') return false
  const first = tree.parts.find(({ type }) => type !== 'look')
  return first?.type === 'assert' && first.kind === 'start'
}
