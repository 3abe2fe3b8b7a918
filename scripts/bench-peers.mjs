// npm run bench:peers [-- arguments]: servers and clients of this library and of others, against a hand-written limit (scripts/bench/peers/).
import { runProgram } from './house/run-program.mjs'

await runProgram('scripts/bench/peers/main.ts')
