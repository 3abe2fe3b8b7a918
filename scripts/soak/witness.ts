/** A program that does a little work again and again, and tells how much of the time it had a processor to itself: what is left is the machine's. */
const workMs = 20
const everyMs = 250

setInterval(() => {
  const began = performance.now()
  const before = process.cpuUsage()
  let used = 0
  while (used < workMs) {
    const { user, system } = process.cpuUsage(before)
    used = (user + system) / 1_000
  }
  // whoever listened may just have ended
  process.send?.(Math.min(1, used / (performance.now() - began)), undefined, undefined, () => {})
}, everyMs)
process.once('disconnect', () => process.exit())
