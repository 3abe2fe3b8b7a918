// npm run bench:border: calls, starts, memory and ends of actors in threads and processes of their own
// (scripts/bench/border/).
import { runProgram } from './house/run-program.mjs'

await runProgram('scripts/bench/border/main.ts')
