// Runs a program of scripts/, written in TypeScript against the sources: scripts/NAME/main.ts, or scripts/NAME.ts.
//   node scripts/run.mjs NAME [arguments]
// scripts/README.md lists them.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from './house/run-program.mjs'
import { repository } from './house/sources.mjs'

const name = process.argv[2]
if (name === undefined) {
  console.error('usage: node scripts/run.mjs NAME [arguments], where NAME is a program of scripts/README.md')
  process.exitCode = 2
} else {
  // a program finds its own arguments where it would if it were run itself
  process.argv.splice(2, 1)
  const file = `scripts/${name}.ts`
  await runProgram(existsSync(join(repository, file)) ? file : `scripts/${name}/main.ts`)
}
