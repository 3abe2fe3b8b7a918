import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { measurements, median } from './measure.js'

const contenders = ['caduceus', 'limit', 'nact', 'xstate'] as const
const runOne = fileURLToPath(new URL('./run-one.js', import.meta.url))
/** Milliseconds one measurement may take. */
const patience = 120_000

type Figures = Record<string, number | null>

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', multiple: true, default: [] },
  },
})
void main()

/**
 * Runtime benchmarks: every measurement in a fresh process, rounds interleaved over the contenders, medians over rounds. The
 * machine's noise is in every contender alike, so read ratios within one run and nothing else.
 */
async function main(): Promise<void> {
  const wanted = measurements.filter((name) => values.only.length === 0 || values.only.includes(name))
  const raw = new Map<string, number[]>()
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const measurement of wanted) {
      for (const contender of contenders) {
        const value = await measure(contender, measurement)
        if (value === null) continue
        const key = `${contender} ${measurement}`
        raw.set(key, [...(raw.get(key) ?? []), value])
      }
    }
  }
  const table: Record<string, Figures> = {}
  for (const contender of contenders) {
    table[contender] = Object.fromEntries(
      wanted.map((name) => [name, summary(raw.get(`${contender} ${name}`))]),
    )
  }
  console.log(values.json ? JSON.stringify(table, null, 2) : text(table, wanted))
}

async function measure(contender: string, measurement: string): Promise<number | null> {
  try {
    const run = promisify(execFile)(process.execPath, ['--expose-gc', runOne, contender, measurement], {
      timeout: patience,
    })
    return JSON.parse((await run).stdout) as number | null
  } catch (error) {
    console.error(
      `${contender} ${measurement}: did not finish: ${error instanceof Error ? error.message.split('\n')[0] : error}`,
    )
    return null
  }
}

function summary(values: number[] | undefined): number | null {
  return values === undefined ? null : Number(median(values).toPrecision(4))
}

function text(table: Record<string, Figures>, wanted: readonly string[]): string {
  const cell = (value: number | null | undefined): string =>
    (value == null ? '-' : value.toLocaleString('en')).padStart(14)
  const head = `${''.padEnd(18)}${contenders.map((name) => name.padStart(14)).join('')}${'to nact'.padStart(10)}`
  const rows = wanted.map((name) => {
    const ours = table.caduceus?.[name]
    const theirs = table.nact?.[name]
    const ratio = ours != null && theirs != null ? `${(ours / theirs).toFixed(2)}x` : ''
    return `${name.padEnd(18)}${contenders.map((contender) => cell(table[contender]?.[name])).join('')}${ratio.padStart(10)}`
  })
  return [head, ...rows].join('\n')
}
