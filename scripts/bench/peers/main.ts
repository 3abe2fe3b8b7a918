import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import {
  type ContenderName,
  contenderNames,
  type Figures,
  median,
  type Scenario,
  scenarios,
  takesPart,
} from './measure.js'
import { pack } from './packed.js'
import { measureRound } from './round.js'

const maxRounds = 20

/** What was measured: for each scenario the figures of each round. */
type Rounds = Readonly<Record<string, Figures[]>>
/** By scenario, by contender. */
type Table = Readonly<Record<string, Readonly<Record<string, number | null>>>>

interface Plan {
  readonly rounds: number
  readonly scenarios: readonly Scenario[]
  readonly contenders: readonly ContenderName[]
  readonly profiles: string | undefined
  readonly json: boolean
}

void main()

/**
 * Servers and clients against their peers: in every round fresh processes, the contenders in turn, and
 * medians over rounds of the ratio of each to the hand-written limit in the same round.
 */
async function main(): Promise<void> {
  const plan = readPlan()
  if (typeof plan === 'string') {
    console.error(plan)
    process.exitCode = 2
    return
  }
  if (plan.profiles !== undefined) await mkdir(plan.profiles, { recursive: true })
  const interrupt = new AbortController()
  const onSignal = (): void => interrupt.abort()
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  const packed = await pack()
  try {
    const rounds = await measureAll(plan, packed.module, interrupt.signal)
    const figures = tabulate(plan, rounds, (all, name) => median(all[name] ?? []))
    const ratios = tabulate(plan, rounds, (all, name) => median(all[name] ?? []) / median(all.raw ?? []))
    console.log(plan.json ? JSON.stringify(ratios, null, 2) : text(plan, figures, ratios))
    const isComplete = plan.scenarios.every((scenario) =>
      plan.contenders.every((name) => !takesPart(name, scenario) || ratios[scenario]?.[name] != null),
    )
    process.exitCode = isComplete ? 0 : 1
  } finally {
    await packed.remove()
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
}

/** What the arguments ask for, or what is wrong with them. */
function readPlan(): Plan | string {
  const { values } = parseArgs({
    options: {
      json: { type: 'boolean', default: false },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string', multiple: true, default: [] },
      contender: { type: 'string', multiple: true, default: [] },
      'cpu-prof': { type: 'string' },
    },
  })
  const rounds = Number(values.rounds)
  if (!(Number.isInteger(rounds) && rounds >= 1 && rounds <= maxRounds))
    return `--rounds: expected a number from 1 to ${maxRounds}, got ${values.rounds}`
  const only = values.only.flatMap((names) => names.split(','))
  const among = values.contender.flatMap((names) => names.split(','))
  const unknown = only.find((name) => !scenarios.some((known) => known === name))
  if (unknown !== undefined) return `--only: expected one of ${scenarios.join(', ')}, got ${unknown}`
  const stranger = among.find((name) => !contenderNames.some((known) => known === name))
  if (stranger !== undefined)
    return `--contender: expected one of ${contenderNames.join(', ')}, got ${stranger}`
  const profiles = values['cpu-prof']
  return {
    rounds,
    scenarios: scenarios.filter((name) => only.length === 0 || only.includes(name)),
    // there is no ratio without the first
    contenders: contenderNames.filter((name) => name === 'raw' || among.length === 0 || among.includes(name)),
    profiles: profiles === undefined ? undefined : resolve(profiles),
    json: values.json,
  }
}

/** All figures of all rounds. */
async function measureAll(plan: Plan, ours: string, signal: AbortSignal): Promise<Rounds> {
  const entrants = plan.contenders.map((name) => ({
    name,
    module: name === 'caduceus' ? ours : moduleOf(name),
  }))
  const rounds: Rounds = Object.fromEntries(plan.scenarios.map((scenario) => [scenario, []]))
  for (let round = 0; round < plan.rounds; round++) {
    for (const scenario of plan.scenarios) {
      if (signal.aborted) break
      // whoever is first finds the machine as the round before has left it: everybody is, in turn
      const able = entrants.filter(({ name }) => takesPart(name, scenario))
      const order = [...able.slice(round % able.length), ...able.slice(0, round % able.length)]
      rounds[scenario]?.push(await measureRound(scenario, order, plan.profiles, signal))
    }
  }
  return rounds
}

function moduleOf(contender: ContenderName): string {
  return new URL(`./contenders/${contender.replace('_', '-')}.js`, import.meta.url).href
}

/** The median over the rounds of what `read` makes of each, a number or NaN; null where no round has a number. */
function tabulate(
  { scenarios: rows, contenders }: Plan,
  rounds: Rounds,
  read: (figures: Figures, contender: ContenderName) => number,
): Table {
  const cell = (scenario: Scenario, contender: ContenderName): number | null => {
    const values = (rounds[scenario] ?? []).map((figures) => read(figures, contender))
    const known = values.filter((value) => Number.isFinite(value))
    return known.length === 0 ? null : Number(median(known).toPrecision(3))
  }
  return Object.fromEntries(
    rows.map((scenario) => [
      scenario,
      Object.fromEntries(contenders.map((contender) => [contender, cell(scenario, contender)])),
    ]),
  )
}

function text({ contenders, rounds }: Plan, figures: Table, ratios: Table): string {
  const head = `${''.padEnd(16)}${contenders.map((name) => name.padStart(20)).join('')}`
  const rows = Object.entries(figures).map(([scenario, row]) => {
    const cells = contenders.map((contender) => {
      const value = row[contender]
      if (value == null) return '-'.padStart(20)
      const unit = scenario === 'cold' ? 'ms' : 'us'
      return `${value.toFixed(1)} ${unit}  ${(ratios[scenario]?.[contender] ?? Number.NaN).toFixed(2)}x`.padStart(
        20,
      )
    })
    return `${scenario.padEnd(16)}${cells.join('')}`
  })
  const legend = [
    `medians of ${rounds} round${rounds === 1 ? '' : 's'}; x is the ratio to raw, the hand-written limit`,
    'session_c16, modern_c16, modern200_c16, stdio_c64: CPU of the server process per request; cold: wall time from the start of node to the first answer on stdio',
    'http_client_c16, stdio_client_c16: CPU of the client process per call, all against the same raw server',
  ]
  return [head, ...rows, '', ...legend].join('\n')
}
