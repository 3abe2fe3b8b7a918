// npm run sim -- [--seed N | --seeds A-B] [--minutes M] [--operations N] [--jobs N] [--trace] [--json]:
// worlds of one seed, and what was wrong in them. All options: scripts/sim/README.md.
import { runProgram } from './house/run-program.mjs'

await runProgram('scripts/sim/main.ts')
