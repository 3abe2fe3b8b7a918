import { parseArgs } from 'node:util'

/** What one call of the program was asked for. */
export interface SimOptions {
  readonly from: number
  /** The last seed. Without it, as many as there is time for. */
  readonly to: number | undefined
  readonly operations: number
  readonly minutes: number | undefined
  readonly trace: boolean
  readonly json: boolean
  /** The only faults of the plan that happen, and the only acts. Default: all. */
  readonly faults: ReadonlySet<number> | undefined
  readonly acts: ReadonlySet<number> | undefined
  /** How long faults last instead, in ms. */
  readonly lasts: ReadonlyMap<number, number>
  readonly jobs: number
  /** Whether all servers are clusters. Default: those of some seeds are. */
  readonly clusters: boolean | undefined
  readonly shrinkSeconds: number
}

const usage =
  'usage: npm run sim -- [--seed N | --seeds A-B] [--minutes M] [--operations N] [--jobs N] [--cluster] [--json]\n' +
  '       npm run sim -- --seed N [--faults 1,4-7,9:250] [--acts 1-20] [--trace] [--shrink-seconds N]\n' +
  '       npm run sim -- --planted [--seeds N] [WORD OF A NAME ...]\n' +
  '       npm run sim -- --known'
const highest = 2 ** 32 - 1

/** Reads the arguments of the program; answers a sentence where they are wrong. */
export function readSimOptions(args: readonly string[], anySeed: () => number): SimOptions | string {
  try {
    return read(args, anySeed)
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    const isParsing = error instanceof TypeError
    return `sim: ${text}${isParsing ? `\n${usage}` : ''}`
  }
}

function read(args: readonly string[], anySeed: () => number): SimOptions {
  const options = {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    operations: { type: 'string', default: '200' },
    minutes: { type: 'string' },
    trace: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    faults: { type: 'string' },
    acts: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    cluster: { type: 'boolean' },
    'shrink-seconds': { type: 'string', default: '60' },
  } as const
  const { values } = parseArgs({ args: [...args], options, strict: true })
  const minutes = values.minutes === undefined ? undefined : Number(values.minutes)
  if (minutes !== undefined && !(minutes > 0 && minutes <= 24 * 60))
    throw new Error(`--minutes: expected a number above 0, ${24 * 60} at most, got ${values.minutes}`)
  const [from, to] = readSeeds(values.seed, values.seeds, minutes, anySeed)
  const isOne = from === to
  if (values.trace && !isOne)
    throw new Error('--trace: expected one seed with it (--seed N), not a range or --minutes')
  if ((values.faults !== undefined || values.acts !== undefined) && !isOne)
    throw new Error('--faults and --acts: expected one seed with them (--seed N): each has faults of its own')
  return {
    from,
    to,
    operations: readWhole('--operations', values.operations, 1, 100_000),
    minutes,
    trace: values.trace,
    json: values.json,
    faults: readIds('--faults', values.faults?.replace(lengths, '')),
    acts: readIds('--acts', values.acts),
    lasts: readLengths(values.faults ?? ''),
    clusters: values.cluster,
    jobs: readWhole('--jobs', values.jobs, 1, 64),
    shrinkSeconds: readWhole('--shrink-seconds', values['shrink-seconds'], 0, 86_400),
  }
}

function readSeeds(
  seed: string | undefined,
  seeds: string | undefined,
  minutes: number | undefined,
  anySeed: () => number,
): [number, number | undefined] {
  if (seed !== undefined && seeds !== undefined)
    throw new Error('--seed and --seeds: expected one of them, got both')
  if (seeds !== undefined) {
    const [, low, high] = /^(\d+)-(\d+)$/.exec(seeds) ?? []
    const [from, to] = [Number(low), Number(high)]
    if (!(from <= to && to <= highest))
      throw new Error(`--seeds: expected A-B, as in 1-300, ${highest} at most, got ${seeds}`)
    return [from, to]
  }
  const from = seed === undefined ? anySeed() : readWhole('--seed', seed, 0, highest)
  return [from, minutes === undefined ? from : undefined]
}

function readWhole(name: string, given: string, low: number, high: number): number {
  const value = Number(given)
  if (given.trim() !== '' && Number.isInteger(value) && value >= low && value <= high) return value
  throw new Error(`${name}: expected a whole number from ${low} to ${high}, got ${JSON.stringify(given)}`)
}

/** In `4:250` how long fault 4 lasts. */
const lengths = /(?<=(?:^|,)\d+):(\d{1,9})(?=,|$)/g

function readLengths(given: string): ReadonlyMap<number, number> {
  const found = given.matchAll(/(?:^|,)(\d+):(\d{1,9})(?=,|$)/g)
  return new Map([...found].map(([, id, ms]) => [Number(id), Number(ms)]))
}

/** Reads `1,4,7-9`, or `none`. */
function readIds(name: string, given: string | undefined): ReadonlySet<number> | undefined {
  if (given === undefined) return undefined
  if (given === 'none') return new Set()
  const ids = given.split(',').flatMap((part) => {
    const [, low, high = low] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part.trim()) ?? []
    if (low === undefined)
      throw new Error(
        `${name}: expected numbers and ranges, as in 1,4,7-9, or none, got ${JSON.stringify(given)}`,
      )
    const [from, to] = [Number(low), Number(high)]
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at)
  })
  return new Set(ids)
}

/** The other way round: ranges where numbers follow one another. */
export function writeIds(ids: readonly number[]): string {
  const sorted = [...ids].sort((a, b) => a - b)
  const parts: string[] = []
  for (let at = 0; at < sorted.length; ) {
    let end = at
    while (sorted[end + 1] === (sorted[end] as number) + 1) end += 1
    parts.push(end === at ? `${sorted[at]}` : `${sorted[at]}-${sorted[end]}`)
    at = end + 1
  }
  return parts.length === 0 ? 'none' : parts.join(',')
}
