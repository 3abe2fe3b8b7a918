import { parseArgs } from 'node:util'

/** What one run was asked for. */
export interface SoakOptions {
  readonly minutes: number
  readonly clients: number
  readonly seed: number
  readonly json: boolean
}

/** Fewer cannot be spread over all transports. */
export const fewestClients = 12
const mostClients = 2_000
const longest = 24 * 60

/** Reads the arguments of the program; answers a sentence where they are wrong. */
export function readSoakOptions(args: readonly string[], anySeed: () => number): SoakOptions | string {
  let values: { minutes?: string; clients?: string; seed?: string; json?: boolean }
  try {
    const options = {
      minutes: { type: 'string' },
      clients: { type: 'string' },
      seed: { type: 'string' },
      json: { type: 'boolean' },
    } as const
    ;({ values } = parseArgs({ args: [...args], options, strict: true }))
  } catch (error) {
    return `soak: ${error instanceof Error ? error.message : String(error)}`
  }
  const minutes = Number(values.minutes ?? '1')
  if (!(minutes > 0 && minutes <= longest))
    return `soak: --minutes: expected a number above 0, ${longest} at most, got ${values.minutes}`
  const clients = Number(values.clients ?? '200')
  if (!(Number.isInteger(clients) && clients >= fewestClients && clients <= mostClients))
    return `soak: --clients: expected a whole number from ${fewestClients} to ${mostClients}, got ${values.clients}`
  const seed = values.seed === undefined ? anySeed() : Number(values.seed)
  if (!(Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32))
    return `soak: --seed: expected a whole number from 0 to ${2 ** 32 - 1}, got ${values.seed}`
  return { minutes, clients, seed, json: values.json === true }
}
