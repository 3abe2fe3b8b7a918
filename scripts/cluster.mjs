// npm run cluster -- [--minutes N] [--clients N] [--seed N] [--faults a,b] [--json]: nodes of one server under faults, and what was wrong in the end.
import { runProgram } from './house/run-program.mjs'

await runProgram('scripts/cluster/main.ts')
