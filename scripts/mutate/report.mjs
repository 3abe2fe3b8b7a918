// What a run of mutants has shown.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from '../house/sources.mjs'

const judged = join(repository, 'scripts', 'mutate', 'equivalent.json')

/** Prints the survivors and the shares; those that are judged to change nothing (`equivalent.json`) count neither way. */
export function printReport(results, { json, seed }) {
  const told = results.map((result) => {
    const why = result.outcome === 'killed' ? undefined : equivalence(result)
    return why === undefined ? result : { ...result, outcome: 'equivalent', why }
  })
  const floors = sharesBy(told, 'floor')
  const operators = sharesBy(told, 'operator')
  if (json) return console.log(JSON.stringify({ seed, floors, operators, mutants: told }, null, 2))
  const alive = told.filter(({ outcome }) => outcome === 'survived' || outcome === 'unreached')
  console.log(`\n${alive.length} survived`)
  for (const one of alive.sort((a, b) => a.path.localeCompare(b.path) || a.line - b.line))
    console.log(describe(one))
  const mean = told.reduce((sum, { ms }) => sum + ms, 0) / Math.max(1, told.length) / 1_000
  console.log(`\nseed ${seed}, ${told.length} mutants, ${mean.toFixed(1)} s each`)
  for (const [title, shares] of Object.entries({ floor: floors, operator: operators })) {
    console.log(`\n${title.padEnd(12)}killed  of   share  equivalent`)
    for (const [name, { killed, of, share, equivalent }] of Object.entries(shares))
      console.log(
        `${name.padEnd(12)}${String(killed).padStart(6)}${String(of).padStart(4)}${`${share} %`.padStart(8)}${String(equivalent).padStart(12)}`,
      )
  }
}

function describe({ path, line, operator, before, text, outcome, files, of }) {
  const tried = outcome === 'unreached' ? 'no test executes it' : `${files} of ${of} test files`
  return `${path}:${line} ${operator}: ${shorten(before)} -> ${shorten(text)}  (${tried})`
}

function shorten(text) {
  const line = text.replace(/\s+/g, ' ')
  return line.length > 90 ? `${line.slice(0, 90)}...` : line
}

/** Entries name file, operator, the text of the line and the reason, so that they outlive a move of the line. */
function equivalence({ path, operator, within, before }) {
  const entry = JSON.parse(readFileSync(judged, 'utf8')).find(
    (one) =>
      one.path === path &&
      one.operator === operator &&
      one.line === within &&
      (one.before ?? before) === before,
  )
  return entry?.why
}

function sharesBy(results, key) {
  const shares = {}
  for (const result of results) {
    shares[result[key]] ??= { killed: 0, of: 0, share: 0, equivalent: 0 }
    const share = shares[result[key]]
    if (result.outcome === 'equivalent') share.equivalent += 1
    else share.of += 1
    if (result.outcome === 'killed') share.killed += 1
    share.share = Math.round((1_000 * share.killed) / Math.max(1, share.of)) / 10
  }
  return Object.fromEntries(Object.entries(shares).sort())
}
