import { createHash } from 'node:crypto'
import type { Verdict, Wrong } from './judge.js'

/** What many seeds came to. */
export class Tally {
  seeds = 0
  steps = 0
  simulated = 0
  operations = 0
  readonly outcomes: Record<string, number> = {}
  readonly faults: Record<string, number> = {}
  /** By checker and kind. */
  readonly violations: Record<string, number> = {}
  /** The first seed with each kind of violation. */
  readonly first = new Map<string, number>()
  readonly failed: number[] = []
  readonly #hashes = new Map<number, string>()

  add(verdict: Verdict): void {
    this.seeds += 1
    this.#hashes.set(verdict.seed, verdict.hash)
    this.steps += verdict.steps
    this.simulated += verdict.simulated
    this.operations += verdict.operations
    addUp(this.outcomes, verdict.outcomes)
    addUp(this.faults, verdict.faults)
    for (const wrong of verdict.wrong) {
      const name = nameOf(wrong)
      this.violations[name] = (this.violations[name] ?? 0) + 1
      const known = this.first.get(name)
      if (known === undefined || known > verdict.seed) this.first.set(name, verdict.seed)
    }
    if (verdict.wrong.length > 0) this.failed.push(verdict.seed)
  }

  /** One digest of all that happened, in whatever order the seeds came. */
  get hash(): string {
    const lines = [...this.#hashes].sort(([a], [b]) => a - b).map(([seed, hash]) => `${seed} ${hash}\n`)
    return createHash('sha256').update(lines.join('')).digest('hex')
  }

  /** Plain data, for `--json`. */
  report(seconds: number): object {
    const { seeds, steps, operations, outcomes, faults, violations } = this
    const simulatedHours = this.simulated / 3_600_000
    const failed = [...this.failed].sort((a, b) => a - b)
    return {
      seeds,
      seconds,
      seedsPerSecond: seeds / seconds,
      simulatedHours,
      steps,
      operations,
      outcomes,
      faults,
      violations,
      failed,
      hash: this.hash,
    }
  }

  /** The same for people. */
  show(seconds: number): string {
    const found = Object.values(this.violations).reduce((sum, count) => sum + count, 0)
    return [
      `${this.seeds} seeds in ${seconds.toFixed(1)} s (${(this.seeds / seconds).toFixed(2)} seeds/s), ` +
        `${(this.simulated / 3_600_000).toFixed(1)} simulated hours, ${this.operations} operations, ${this.steps} steps`,
      `outcomes    ${list(this.outcomes)}`,
      `faults      ${list(this.faults)}`,
      `violations  ${found} in ${this.failed.length} seeds`,
      ...[...Object.entries(this.violations)]
        .sort(([, a], [, b]) => b - a)
        .map(([name, count]) => `  ${count} ${name} (first: --seed ${this.first.get(name)})`),
    ].join('\n')
  }
}

/** A failing seed in one line. */
export function showVerdict({ seed, hash, wrong }: Verdict): string {
  if (wrong.length === 0) return `seed ${seed} ${hash.slice(0, 12)} is clean`
  const kinds = new Map<string, number>()
  for (const one of wrong) kinds.set(nameOf(one), (kinds.get(nameOf(one)) ?? 0) + 1)
  const texts = [...kinds].map(([name, count]) => (count === 1 ? name : `${name} (${count})`))
  return `seed ${seed} ${hash.slice(0, 12)} FAILS ${texts.join('; ')}`
}

/** What a violation is known by: the same fault has the same. */
export function nameOf({ checker, kind }: Wrong): string {
  return `${checker}: ${kind}`
}

function addUp(sum: Record<string, number>, of: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(of)) sum[name] = (sum[name] ?? 0) + count
}

function list(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).sort(([, a], [, b]) => b - a)
  return parts.map(([name, count]) => `${name} ${count}`).join(', ') || 'none'
}
