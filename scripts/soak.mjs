// npm run soak -- [--minutes N] [--clients N] [--seed N] [--json]: clients of many servers under faults, and what was wrong in the end.
import { runProgram } from './house/run-program.mjs'

await runProgram('scripts/soak/main.ts')
