import { parseArgs } from 'node:util'

/** What one run was asked for. */
export interface ClusterOptions {
  readonly minutes: number
  readonly clients: number
  readonly seed: number
  /** What breaks; all that can if it is not said. */
  readonly faults: readonly string[]
  readonly json: boolean
}

/** Fewer are not of all kinds in both eras. */
const fewestClients = 5
const mostClients = 2_000
const longest = 24 * 60

/** Reads the arguments of the program; answers a sentence where they are wrong. */
export function readClusterOptions(
  args: readonly string[],
  known: readonly string[],
  anySeed: () => number,
): ClusterOptions | string {
  let values: { minutes?: string; clients?: string; seed?: string; faults?: string; json?: boolean }
  try {
    const options = {
      minutes: { type: 'string' },
      clients: { type: 'string' },
      seed: { type: 'string' },
      faults: { type: 'string' },
      json: { type: 'boolean' },
    } as const
    ;({ values } = parseArgs({ args: [...args], options, strict: true }))
  } catch (error) {
    return `cluster: ${error instanceof Error ? error.message : String(error)}`
  }
  const minutes = Number(values.minutes ?? '1')
  if (!(minutes > 0 && minutes <= longest))
    return `cluster: --minutes: expected a number above 0, ${longest} at most, got ${values.minutes}`
  const clients = Number(values.clients ?? '300')
  if (!(Number.isInteger(clients) && clients >= fewestClients && clients <= mostClients))
    return `cluster: --clients: expected a whole number from ${fewestClients} to ${mostClients}, got ${values.clients}`
  const seed = values.seed === undefined ? anySeed() : Number(values.seed)
  if (!(Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32))
    return `cluster: --seed: expected a whole number from 0 to ${2 ** 32 - 1}, got ${values.seed}`
  const faults = values.faults?.split(',') ?? known
  const stranger = faults.find((name) => !known.includes(name))
  if (stranger !== undefined) return `cluster: --faults: ${stranger} is none of ${known.join(', ')}`
  return { minutes, clients, seed, faults, json: values.json === true }
}
