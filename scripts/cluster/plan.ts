/** One client that is to be. */
export interface Place {
  readonly name: string
  /** Whose client it is: ours, or the first or second one of the official SDK. */
  readonly kind: 'ours' | 'v1' | 'v2'
  readonly era: 'session' | 'modern'
}

const kinds = [
  { kind: 'ours', era: 'session' },
  { kind: 'v1', era: 'session' },
  { kind: 'v2', era: 'session' },
  { kind: 'ours', era: 'modern' },
  { kind: 'v2', era: 'modern' },
] as const

/** As many clients of all kinds; they have sessions more often than not. */
export function placesOf(clients: number): readonly Place[] {
  return Array.from({ length: clients }, (_, number) => {
    const { kind, era } = kinds[number % kinds.length] ?? kinds[0]
    return { name: `${kind}-${era}-${number}`, kind, era }
  })
}
