import { faultNames } from './faults.js'
import { readClusterOptions } from './options.js'
import { formatReport } from './report.js'
import { runCluster } from './run.js'

const options = readClusterOptions(process.argv.slice(2), faultNames, () => Date.now() % 2 ** 32)
if (typeof options === 'string') {
  console.error(options)
  process.exitCode = 2
} else {
  const interrupted = new AbortController()
  const interrupt = (): void => interrupted.abort()
  process.once('SIGINT', interrupt)
  const say = (line: string): void => (options.json ? console.error(line) : console.log(line))
  const report = await runCluster(options, { say, signal: interrupted.signal })
  process.off('SIGINT', interrupt)
  console.log(options.json ? JSON.stringify(report) : formatReport(report))
  process.exitCode = report.violations > 0 ? 1 : 0
}
