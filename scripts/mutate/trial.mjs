// What tests of one file say of one mutant.

/**
 * Runs the tests `names` of the file at `path` with the mutant on, until one fails. It is killed by a test that fails, passes without
 * the mutant in the same process or a new one, and fails with it again. Answers `{ killed, by, unsure }`: `unsure` names the tests
 * that fail without a mutant, too.
 */
export async function tryMutant({ worker, mutant, path, names, limits, signal }) {
  const unsure = []
  let left = names
  while (left.length > 0) {
    const first = await run(left, mutant.number)
    if (signal.aborted) return { killed: false, unsure }
    const suspects = blame(first, left)
    if (suspects.length === 0) break
    if (!(await passesWithout(suspects))) unsure.push(...suspects)
    else if (blame(await run(suspects, mutant.number), suspects).length > 0)
      return { killed: !signal.aborted, by: suspects[0], unsure }
    const done = first.tests.map(({ name }) => name)
    left = left.filter((name) => !suspects.includes(name) && !done.includes(name))
  }
  return { killed: false, unsure }

  async function passesWithout(suspects) {
    const before = worker.isNew()
    if (blame(await run(suspects, 0), suspects).length === 0) return true
    if (before || signal.aborted) return false
    await worker.renew() // the mutant may have left something behind
    return blame(await run(suspects, 0), suspects).length === 0
  }

  async function run(some, on) {
    // what loading a module computes is computed once for each process
    if (mutant.isLoaded) await worker.renew()
    const only = Object.fromEntries(some.map((name) => [name, limits.of(name)]))
    const limit = limits.ofAll(some)
    const outcome = await worker.ask({ path, limit, on, only })
    if (mutant.isLoaded && on !== 0) await worker.renew()
    return outcome
  }
}

/** The tests that an outcome speaks against; none where it is as it should be. */
function blame({ tests, problems }, names) {
  const failed = tests.filter(({ ok }) => !ok).map(({ name }) => name)
  if (failed.length > 0) return failed
  const missing = names.filter((name) => !tests.some((test) => test.name === name))
  if (missing.length > 0) return missing.slice(0, 1) // the one that ended the process, or kept it
  return problems.length > 0 ? names : []
}

/** How long tests may take with a mutant: several times what they take without. */
export function limitsOf(tests) {
  const of = (name) => Math.max(300, Math.ceil(4 * tests[name].ms))
  return { of, ofAll: (names) => 1_500 + names.reduce((sum, name) => sum + of(name), 0) }
}
