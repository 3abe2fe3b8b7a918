// npm run runtimes [-- part of a path ...]: the programs of the README and of the guide, by the package as it is published, with Node, Bun and Deno.
// The first run installs scripts/runtimes/package-lock.json. What does not run is in server/guide/runtimes.md.
import { execFileSync } from 'node:child_process'
import { installRuntimes, writePrograms } from './runtimes/install.mjs'
import { listTrials } from './runtimes/trials.mjs'

process.exitCode = await main(process.argv.slice(2))

async function main(parts) {
  const runtimes = installRuntimes()
  const trials = listTrials(writePrograms()).filter(
    ({ name }) => parts.length === 0 || parts.some((part) => name.includes(part)),
  )
  const rows = []
  for (const [name, command] of runtimes) {
    const failed = []
    for (const trial of trials) {
      const problem = await trial.run(command).catch((error) => error)
      if (problem === undefined) continue
      failed.push(trial.name)
      console.log(`${name} ${trial.name}: ${problem.message}\n`)
    }
    rows.push({ runtime: `${name} ${versionOf(command)}`, programs: trials.length, failed })
  }
  console.log('| runtime | programs | fail |\n| --- | --- | --- |')
  for (const { runtime, programs, failed } of rows)
    console.log(`| ${runtime} | ${programs} | ${failed.join(', ') || 'none'} |`)
  return rows.some(({ failed }) => failed.length > 0) ? 1 : 0
}

function versionOf([command]) {
  const said = execFileSync(command, ['--version'], { encoding: 'utf8' })
  return /\d+\.\d+\.\d+/.exec(said)?.[0]
}
