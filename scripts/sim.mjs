// npm run sim -- [--seed N | --seeds A-B] [--minutes M] [--operations N] [--jobs N] [--faults 1,4] [--trace] [--json]: worlds of one seed, and what was wrong in them.
import { runProgram } from './house/run-program.mjs'

await runProgram('scripts/sim/main.ts')
