// Counts checks and prints those that are not as they should be.
const width = 400
const words = { FAILURE: 'FAIL', WARNING: 'WARN', SUCCESS: 'PASS', SKIPPED: 'SKIP', INFO: 'INFO' }

/**
 * Adds up checks. A scenario in which nothing succeeded is a failed check, one with more skipped than decided is pointed out. What is `expected` not to
 * pass (`run scenario` to the reason) is told with its reason and not counted; a failed check if it passes. `finish` prints the totals,
 * `N passed, N failed` last, and returns the exit code: 1 for a failure, a warning, or no check.
 */
export function createTally(verbose, expected = new Map()) {
  const counts = { FAILURE: 0, WARNING: 0, SUCCESS: 0, SKIPPED: 0, INFO: 0 }
  const totals = new Map()
  const notPassed = []
  const count = (run, scenario, check) => {
    const status = Object.hasOwn(counts, check.status) ? check.status : 'FAILURE'
    const total = totals.get(run) ?? { SUCCESS: 0, FAILURE: 0, WARNING: 0, SKIPPED: 0 }
    counts[status] += 1
    total[status] += 1
    totals.set(run, total)
    if (verbose || isBad(status)) console.log(line(words[status], run, scenario, check))
  }
  return {
    add(run, scenario, checks) {
      const whole = decided(checks)
      const why = expected.get(`${run} ${scenario}`)
      if (why === undefined) {
        for (const check of whole) count(run, scenario, check)
        const notice = mostlySkipped(checks)
        if (notice !== undefined) console.log(`NOTE [${run}] ${scenario}: ${notice}`)
      } else if (whole.some(({ status }) => isBad(status))) notPassed.push(`[${run}] ${scenario}: ${why}`)
      else
        count(run, scenario, {
          id: 'expected',
          status: 'FAILURE',
          errorMessage: `it passes, although ${why}`,
        })
    },
    finish() {
      for (const one of notPassed) console.log(`expected failure ${one}`)
      for (const [run, { SUCCESS, FAILURE, WARNING, SKIPPED }] of totals)
        console.log(`${run}: ${SUCCESS} passed, ${FAILURE + WARNING} failed, ${SKIPPED} skipped`)
      const failed = counts.FAILURE + counts.WARNING
      console.log(
        `(${counts.WARNING} of the failed are warnings; ${counts.SKIPPED} skipped; ${notPassed.length} scenarios not counted)`,
      )
      console.log(`${counts.SUCCESS} passed, ${failed} failed`)
      return failed > 0 || counts.SUCCESS === 0 ? 1 : 0
    },
  }
}

/** A scenario that could not be carried out may write that it began, or what it skipped, and nothing else. */
function decided(checks) {
  if (checks.some(({ status }) => status === 'SUCCESS' || isBad(status))) return checks
  const told = checks.map(({ id, status }) => `${id} ${status}`).join(', ')
  return [
    ...checks,
    { id: 'decided', status: 'FAILURE', errorMessage: `no check succeeded: ${told || 'there is none'}` },
  ]
}

function mostlySkipped(checks) {
  const skipped = checks.filter(({ status }) => status === 'SKIPPED')
  const others = checks.filter(({ status }) => status === 'SUCCESS' || isBad(status))
  if (skipped.length <= others.length) return undefined
  const names = skipped.map(({ id, name }) => name ?? id).join(', ')
  return `${skipped.length} of ${skipped.length + others.length} checks skipped: ${names.slice(0, width)}`
}

function isBad(status) {
  return status !== 'SUCCESS' && status !== 'SKIPPED' && status !== 'INFO'
}

function line(word, run, scenario, { id, name, errorMessage, description }) {
  const label = name === undefined || name === id ? id : `${id} (${name})`
  const text = String(errorMessage ?? description ?? '')
    .replace(/\s+/g, ' ')
    .trim()
  return `${word} [${run}] ${scenario}: ${label}: ${text.slice(0, width)}`
}
