// What the first lines of a test file say of how it is run. The rule is in test/README.md.
//   // second tier: redis, time     what it needs, or why it takes longer; `quiet`: nothing runs beside it
//   // own process: <why>           nothing else runs in its process
//   // shares a process              a file of the second tier that leaves nothing behind, as all of the fast tier
//   // time limit: 120 s            instead of 60 s
// A file of the fast tier may have tests of the second: `test.slow`.
const defaultLimit = 60_000

/** Why a test belongs to the second tier. */
const needs = ['redis', 'browser', 'terminal', 'package', 'third party', 'runtime', 'seeds', 'time', 'quiet']

/** Reads the first lines of a test file: `{ tier, needs, alone, limit, hasSlow }`, or `{ problem }`. */
export function readHeader(text) {
  const top = text.split('\n', 10).join('\n')
  const seconds = /^\/\/ time limit: (\d+) s$/m.exec(top)?.[1]
  const said = /^\/\/ second tier: (.+)$/m.exec(top)?.[1]?.split(', ') ?? []
  const shares = /^\/\/ shares a process$/m.test(top)
  const unknown = said.find((need) => !needs.includes(need))
  if (unknown !== undefined)
    return { problem: `second tier: expected some of ${needs.join(', ')}, got ${unknown}` }
  const hasSlow = /^ *test\.slow\(/m.test(text)
  if (hasSlow && said.length > 0) return { problem: 'test.slow: all of this file is in the second tier' }
  return {
    hasSlow,
    tier: said.length > 0 ? 'second' : 'fast',
    needs: said,
    quiet: said.includes('quiet'),
    alone: (said.length > 0 && !shares) || /^\/\/ own process: \S/m.test(top),
    limit: seconds ? Number(seconds) * 1000 : defaultLimit,
  }
}
