// npm run bench [-- arguments]: the measurements of scripts/bench/.
import { runProgram } from './house/run-program.mjs'

await runProgram('scripts/bench/main.ts')
