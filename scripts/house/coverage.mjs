// Prints what the tests of a run have reached, from the data V8 wrote.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { floors, repository } from './sources.mjs'

/** Maps the data in `folder` back to the sources and prints a table; a file that nothing loaded (also one of types only) shows 0. */
export function reportCoverage(root, folder) {
  const c8 = join(repository, 'node_modules', 'c8', 'bin', 'c8.js')
  const include = [...floors.flatMap((floor) => ['--include', `${floor}/**/*.ts`]), '--exclude', '*/index.ts']
  const places = ['--temp-directory', folder, '--reports-dir', join(root, 'coverage')]
  const reporters = ['--reporter', 'text', '--reporter', 'lcovonly']
  const args = [
    c8,
    'report',
    '--exclude-after-remap',
    '--all',
    '--extension',
    '.ts',
    ...include,
    ...places,
    ...reporters,
  ]
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) console.log(`coverage: c8 ended with ${status}`)
}
