import { parseArgs } from 'node:util'
import { resolve } from 'node:path'
import { AskedProgram } from '../asked-program.js'
import { costOfSession } from '../memory/sessions.js'
import type { Scenario } from '../peers/measure.js'
import type { Entrant } from '../peers/measure.js'
import { pack } from '../peers/packed.js'
import { measureRound } from '../peers/round.js'
import { compare, describe, isMore, isTooMuch, kept, type Row, ratioOf, type Samples } from './verdict.js'

/** Rounds of a row that is too much, before it is believed. */
const maxRounds = 4
const sessions = 1_000
const rows = Object.keys(kept) as Row[]
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: rows.join() },
    /** A checkout that this one is compared with, in the same minutes, instead of with the limit. */
    against: { type: 'string' },
    /** Every process of this library works this share more than it has to, such as 0.25. */
    planted: { type: 'string', default: '0' },
  },
})

process.exitCode = await main()

/**
 * Whether a call, a start or a session costs more than in the tree before, or than is kept in `verdict.ts`. What
 * is too much is measured again.
 */
async function main(): Promise<number> {
  const wanted = values.only.split(',')
  const stranger = wanted.find((name) => !rows.some((row) => row === name))
  const planted = Number(values.planted)
  if (stranger !== undefined || !(planted >= 0 && planted <= 1)) {
    console.error(
      stranger === undefined
        ? `--planted: expected a share from 0 to 1, got ${values.planted}`
        : `--only: expected some of ${rows.join(', ')}, got ${stranger}`,
    )
    return 2
  }
  const packed = await pack()
  const before = values.against === undefined ? undefined : await pack(resolve(values.against))
  try {
    const other = before?.module ?? new URL('../peers/contenders/raw.js', import.meta.url).href
    const entrants = [
      { name: before === undefined ? 'raw' : 'before', module: other },
      { name: 'caduceus', module: planted === 0 ? packed.module : slowed(packed.module, planted) },
    ] as const
    const verdicts: boolean[] = []
    for (const row of rows) if (wanted.includes(row)) verdicts.push(await judge(row, entrants))
    return verdicts.every(Boolean) ? 0 : 1
  } finally {
    await packed.remove()
    await before?.remove()
  }
}

async function judge(row: Row, entrants: readonly Entrant[]): Promise<boolean> {
  const isCompared = values.against !== undefined
  // it is measured of the sources of this tree alone
  if (isCompared && row === 'session_memory') return true
  const samples = { ours: [] as number[], other: [] as number[] }
  for (let round = 1; ; round++) {
    const more = row === 'session_memory' ? await memory() : await cpu(row, entrants, round)
    samples.ours.push(...more.ours)
    samples.other.push(...more.other)
    const ratio = ratioOf(samples)
    const tooMuch = isCompared ? isMore(ratio) : isTooMuch(row, ratio)
    if (tooMuch && round < maxRounds) continue
    console.log(isCompared ? compare(row, ratio) : describe(row, ratio))
    return !tooMuch
  }
}

async function cpu(scenario: Scenario, entrants: readonly Entrant[], round: number): Promise<Samples> {
  // whoever is first finds the machine as the round before has left it
  const figures = await measureRound(scenario, round % 2 === 0 ? [...entrants].reverse() : entrants)
  return { ours: figures.caduceus ?? [], other: figures.before ?? figures.raw ?? [] }
}

/** Bytes of a session with its stream. */
async function memory(): Promise<Samples> {
  const cost = async (program: string, ...args: string[]): Promise<number> => {
    const server = new AskedProgram(new URL(`../memory/${program}.js`, import.meta.url), ...args)
    try {
      return (await costOfSession(server, sessions)).streaming
    } finally {
      server.end()
    }
  }
  return { ours: [await cost('ours', '1', '{}')], other: [await cost('bare')] }
}

/** The same contender, but its process works so much more. */
function slowed(module: string, share: number): string {
  const url = new URL('./slowed.js', import.meta.url)
  url.searchParams.set('module', module)
  url.searchParams.set('share', String(share))
  return url.href
}
