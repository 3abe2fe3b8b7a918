// Which mutants a run tries.

/** Those at the given places; otherwise `count` of each floor by `seed`, taking turns among the operators so that the rare ones count. */
export function pickMutants(library, { floor: wanted, operator, seed, count, at }) {
  const all = library.flatMap((file) => file.mutants.map((mutant) => ({ ...mutant, file })))
  if (at.length > 0)
    return all.filter(({ path, line }) => at.includes(path) || at.includes(`${path}:${line}`))
  const random = createRandom(seed)
  const picked = wanted.flatMap((floor) => {
    const groups = operator.map((name) =>
      shuffle(
        all.filter((one) => one.floor === floor && one.operator === name),
        random,
      ),
    )
    return takeTurns(groups).slice(0, count)
  })
  return shuffle(picked, random)
}

function takeTurns(groups) {
  const longest = Math.max(0, ...groups.map(({ length }) => length))
  return Array.from({ length: longest }, (_, round) =>
    groups.flatMap((group) => group.slice(round, round + 1)),
  ).flat()
}

function shuffle(list, random) {
  const left = [...list]
  for (let index = left.length - 1; index > 0; index--) {
    const other = Math.floor(random() * (index + 1))
    ;[left[index], left[other]] = [left[other], left[index]]
  }
  return left
}

/** Mulberry32: the same numbers for the same seed, everywhere. */
function createRandom(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
