// Counts checks and prints those that are not as they should be.
const width = 400
const words = { FAILURE: 'FAIL', WARNING: 'WARN', SUCCESS: 'PASS', SKIPPED: 'SKIP', INFO: 'INFO' }

/** Adds up checks. `finish` prints the totals, `N passed, N failed` last, and returns the exit code: 1 for a failure, a warning, or no check. */
export function createTally(verbose) {
  const counts = { FAILURE: 0, WARNING: 0, SUCCESS: 0, SKIPPED: 0, INFO: 0 }
  const totals = new Map()
  return {
    add(run, scenario, checks) {
      for (const check of checks) {
        const status = Object.hasOwn(counts, check.status) ? check.status : 'FAILURE'
        counts[status] += 1
        const total = totals.get(run) ?? { passed: 0, failed: 0 }
        if (status === 'SUCCESS') total.passed += 1
        if (isBad(status)) total.failed += 1
        totals.set(run, total)
        if (verbose || isBad(status)) console.log(line(words[status], run, scenario, check))
      }
    },
    finish() {
      for (const [run, { passed, failed }] of totals)
        console.log(`${run}: ${passed} passed, ${failed} failed`)
      const failed = counts.FAILURE + counts.WARNING
      console.log(`(${counts.WARNING} of the failed are warnings; ${counts.SKIPPED} skipped)`)
      console.log(`${counts.SUCCESS} passed, ${failed} failed`)
      return failed > 0 || counts.SUCCESS === 0 ? 1 : 0
    },
  }
}

function isBad(status) {
  return status === 'FAILURE' || status === 'WARNING'
}

function line(word, run, scenario, { id, name, errorMessage, description }) {
  const label = name === undefined || name === id ? id : `${id} (${name})`
  const text = String(errorMessage ?? description ?? '')
    .replace(/\s+/g, ' ')
    .trim()
  return `${word} [${run}] ${scenario}: ${label}: ${text.slice(0, width)}`
}
