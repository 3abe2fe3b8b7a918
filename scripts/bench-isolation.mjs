// node scripts/bench-isolation.mjs: what isolated handlers cost, and what others notice of one that spins
// (scripts/bench/isolation/).
import { runProgram } from './house/run-program.mjs'

await runProgram('scripts/bench/isolation/main.ts')
