// npm run sim -- --seed N [--trace] [--seeds A-B] [--minutes M] [--json]: a world of one seed, and what was wrong in it.
import { runProgram } from './house/run-program.mjs'

await runProgram('scripts/sim/main.ts')
