// npm run bench:cluster [-- --rounds 5 --sessions 2000]: two nodes over Redis against one server alone (scripts/bench/cluster/).
import { runProgram } from './house/run-program.mjs'

await runProgram('scripts/bench/cluster/main.ts')
