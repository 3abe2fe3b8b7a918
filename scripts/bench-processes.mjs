// npm run bench:processes [-- --rounds 5]: several processes that serve one server, against one and none (scripts/bench/processes/).
import { runProgram } from './house/run-program.mjs'

await runProgram('scripts/bench/processes/main.ts')
