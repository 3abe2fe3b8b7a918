// npm run bench:gateway [-- --rounds 5 --sessions 50 --alone]: what a gateway costs, and what those of others do (scripts/bench/gateway/).
import { runProgram } from './house/run-program.mjs'

await runProgram('scripts/bench/gateway/main.ts')
