// What a run of mutants has shown.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from '../house/sources.mjs'

const judged = join(repository, 'scripts', 'mutate', 'equivalent.json')

/**
 * Counts the outcomes of a room. Those that are judged to change nothing (`equivalent.json`) count neither way; of all others the
 * `share` is killed, so that what is undecided counts as not killed.
 */
export function judge({ room, results, notMade, minutes, load }) {
  const entries = JSON.parse(readFileSync(judged, 'utf8'))
  const mutants = results.map((result) => {
    const why = result.outcome === 'killed' ? undefined : equivalence(entries, result)
    return why === undefined ? result : { ...result, outcome: 'equivalent', why }
  })
  const count = (...outcomes) => mutants.filter(({ outcome }) => outcomes.includes(outcome)).length
  const killed = count('killed')
  const equivalent = count('equivalent')
  return {
    room,
    mutants: mutants.length,
    killed,
    survived: count('survived', 'unreached'),
    unreached: count('unreached'),
    undecided: count('undecided'),
    equivalent,
    notMade,
    share: Math.round((1_000 * killed) / Math.max(1, mutants.length - equivalent)) / 10,
    minutes: Math.round(minutes * 10) / 10,
    load,
    operators: countByOperator(mutants),
    all: mutants,
  }
}

export function printReport(report) {
  const alive = report.all.filter(({ outcome }) => !['killed', 'equivalent'].includes(outcome))
  console.log()
  for (const one of alive.sort((a, b) => a.path.localeCompare(b.path) || a.line - b.line))
    console.log(describe(one))
  console.log(`\n${'operator'.padEnd(12)}killed    of`)
  for (const [name, { killed, of }] of Object.entries(report.operators))
    console.log(`${name.padEnd(12)}${String(killed).padStart(6)}${String(of).padStart(6)}`)
  console.log(
    `\nload of the machine ${report.load.join(' to ')}, ${report.notMade} could not be made\n${tableHead}\n${tableRow(report)}`,
  )
}

const columns = [
  'room',
  'mutants',
  'killed',
  'survived',
  'not decided',
  'equivalent',
  'not made',
  'share',
  'minutes',
]
export const tableHead = `| ${columns.join(' | ')} |\n|${'---|'.repeat(columns.length)}`

/** One line of the table by room. */
export function tableRow({
  room,
  mutants,
  killed,
  survived,
  undecided,
  equivalent,
  notMade,
  share,
  minutes,
}) {
  const cells = [room, mutants, killed, survived, undecided, equivalent, notMade, `${share} %`, minutes]
  return `| ${cells.join(' | ')} |`
}

function describe({ path, line, operator, before, text, outcome, tried, of }) {
  const how = outcome === 'unreached' ? 'no test executes it' : `${outcome}, ${tried} of ${of} tests`
  return `${path}:${line} ${operator}: ${shorten(before)} -> ${shorten(text)}  (${how})`
}

function shorten(text) {
  const line = text.replace(/\s+/g, ' ')
  return line.length > 90 ? `${line.slice(0, 90)}...` : line
}

/** Entries name file, operator, the text of the line and the reason, so that they outlive a move of the line. */
function equivalence(entries, { path, operator, within, before }) {
  const entry = entries.find(
    (one) =>
      one.path === path &&
      one.operator === operator &&
      one.line === within &&
      (one.before ?? before) === before,
  )
  return entry?.why
}

function countByOperator(mutants) {
  const counts = {}
  for (const { operator, outcome } of mutants) {
    counts[operator] ??= { killed: 0, of: 0 }
    if (outcome === 'equivalent') continue
    counts[operator].of += 1
    if (outcome === 'killed') counts[operator].killed += 1
  }
  return Object.fromEntries(Object.entries(counts).sort())
}
